import PusherProtocol

/// A value for each of a client's channels.
///
/// The first is stored inline: most clients have only one, and it should not cost a table.
struct ChannelValues<Value: Sendable>: Sendable {
    private var first: (channel: ChannelName, value: Value)?
    private var others: [ChannelName: Value] = [:]

    /// The value of a channel; `nil` if it has none.
    subscript(channel: ChannelName) -> Value? {
        get {
            if let first, first.channel == channel { return first.value }
            return others.isEmpty ? nil : others[channel]
        }
        set {
            if first.map({ $0.channel == channel }) ?? (others[channel] == nil) {
                first = newValue.map { (channel, $0) }
            } else {
                others[channel] = newValue
            }
        }
    }

    /// Removes and returns the value of a channel.
    mutating func remove(_ channel: ChannelName) -> Value? {
        defer { self[channel] = nil }
        return self[channel]
    }

    /// The channels, in no particular order.
    var channels: [ChannelName] { map { channel, _ in channel } }

    /// Returns what `transform` makes of each channel and its value, in no particular order.
    func map<Result>(_ transform: (ChannelName, Value) -> Result) -> [Result] {
        (first.map { [transform($0.channel, $0.value)] } ?? [])
            + others.map { transform($0.key, $0.value) }
    }
}
