#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An event as it arrived on a channel.
public struct ChannelEvent: Sendable, Hashable {
    /// The event's name.
    ///
    /// Names that begin with `pusher:` are the protocol's own, such as
    /// `pusher:subscription_succeeded`; see ``isFromProtocol``.
    public let name: String
    /// The channel's name; `nil` for an event that the broker sent to this connection alone.
    public let channel: String?
    /// The data as its publisher wrote it, usually JSON; `nil` when there is none.
    ///
    /// A value that came as JSON instead of as text is given as its JSON text.
    public let data: String?
    /// The id of the user whose client sent the event, on presence channels.
    public let userID: String?

    /// Makes an event, for tests of what consumes events.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - channel: The channel's name.
    ///   - data: The data, usually JSON.
    ///   - userID: The sender of a client event on a presence channel.
    public init(name: String, channel: String?, data: String?, userID: String? = nil) {
        self.name = name
        self.channel = channel
        self.data = data
        self.userID = userID
    }

    /// Whether the event comes from the protocol and not from a publisher.
    public var isFromProtocol: Bool { name.hasPrefix("pusher:") }

    /// Decodes the data as JSON.
    ///
    /// - Parameters:
    ///   - type: What to make of it.
    ///   - decoder: Decides on dates, keys and so on.
    /// - Returns: The value.
    /// - Throws: ``FanfareError/undecodable(event:type:reason:)``, also when there is no data.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        with decoder: JSONDecoder = JSONDecoder()
    ) throws(FanfareError) -> Value {
        do {
            return try decoder.decode(type, from: Data((data ?? "").utf8))
        } catch {
            let reason = data == nil ? "the event has no data" : String(describing: error)
            throw .undecodable(event: self, type: String(describing: type), reason: reason)
        }
    }
}
