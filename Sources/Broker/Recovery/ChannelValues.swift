import PusherProtocol

/// A value for each of a client's channels.
///
/// The first is stored inline: most clients have only one, and it should not need a table.
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

    // swift-format-ignore: NeverForceUnwrap
    /// Changes the value of a channel in place, and returns what `body` returns; `nil` if the channel has no value.
    @discardableResult
    mutating func change<Result>(
        _ channel: ChannelName,
        _ body: (inout Value) -> Result
    ) -> Result? {
        if first?.channel == channel { return body(&first!.value) }
        guard !others.isEmpty, let index = others.index(forKey: channel) else { return nil }
        return body(&others.values[index])
    }

    // swift-format-ignore: NeverForceUnwrap
    /// Changes the value of each channel in place, in no particular order.
    mutating func changeAll(_ body: (ChannelName, inout Value) -> Void) {
        if first != nil { body(first!.channel, &first!.value) }
        for index in others.indices { body(others.keys[index], &others.values[index]) }
    }

    /// Removes and returns the value of a channel.
    mutating func remove(_ channel: ChannelName) -> Value? {
        defer { self[channel] = nil }
        return self[channel]
    }

    /// Returns the result of `transform` for each channel and its value, in no particular order.
    func map<Result>(_ transform: (ChannelName, Value) -> Result) -> [Result] {
        (first.map { [transform($0.channel, $0.value)] } ?? [])
            + others.map { transform($0.key, $0.value) }
    }
}
