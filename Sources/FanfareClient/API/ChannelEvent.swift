#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An event received on a channel.
public struct ChannelEvent: Sendable, Hashable {
    /// The event's name.
    ///
    /// Names that begin with `pusher:` are protocol events, such as `pusher:subscription_succeeded`; see
    /// ``isFromProtocol``.
    public let name: String
    /// The channel's name; `nil` for an event sent to this connection only.
    public let channel: String?
    /// The data as the publisher wrote it, usually JSON; `nil` when there is none.
    ///
    /// If the publisher sent a JSON value instead of a string, this is its JSON text.
    public let data: String?
    /// On presence channels, the ID of the user whose client sent the event.
    public let userID: String?

    /// Creates an event, for tests.
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

    /// Whether the event is part of the protocol, not from a publisher.
    public var isFromProtocol: Bool { name.hasPrefix("pusher:") }

    /// Decodes the data as JSON.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder, with its strategies for dates and keys.
    /// - Returns: The value.
    /// - Throws: A ``FanfareError`` with ``FanfareError/Code/undecodable``, also when there is no data.
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

/// An event's name and the type of its data.
///
/// ```swift
/// extension EventName {
///     static var addUser: EventName<User> { EventName<User>("addUser") }
/// }
/// channel.bind(.addUser) { user in list.append(user) }
/// ```
public struct EventName<Payload: Decodable & Sendable>: Sendable, Hashable {
    /// The name on the wire.
    public let text: String

    /// Creates the name of an event whose data is a `Payload` as JSON.
    public init(_ text: String) { self.text = text }
}
