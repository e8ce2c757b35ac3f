#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

import Primitives
import PusherProtocol

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
    /// If the publisher sent a JSON value instead of a string, this is its JSON text. A string that was cut inside an
    /// emoji has U+FFFD there; see ``codeUnits(of:)``.
    public let data: String?
    /// The data as a JSON string, if it has half of a surrogate pair.
    var dataToken: [UInt8]?
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

    /// Decodes the data as JSON; half of a surrogate pair becomes U+FFFD.
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
            return try decoder.decode(type, repairing: Data((data ?? "").utf8))
        } catch {
            let reason = data == nil ? "the event has no data" : String(describing: error)
            throw .undecodable(event: self, type: String(describing: type), reason: reason)
        }
    }
}

extension ChannelEvent {
    /// Returns a string of the data as UTF-16 code units, to join text that arrives in pieces.
    ///
    /// A publisher may cut an emoji in two. A `String` has U+FFFD for each half; the code units are complete:
    ///
    /// ```swift
    /// channel.bind("token") { event in
    ///     units += event.codeUnits() ?? []
    ///     text = String(decoding: units, as: UTF16.self)
    /// }
    /// ```
    ///
    /// - Parameter member: The name of a member of the data, which is a JSON object; `nil` for the data itself.
    /// - Returns: The code units of the member; of a JSON string, or of data that is none. `nil` if there is no data,
    ///   or if the member is missing or not a string.
    public func codeUnits(of member: String? = nil) -> [UInt16]? {
        guard let data else { return nil }
        func scan(_ text: [UInt8]) -> JSONValue? { try? JSONScanner.scan(text.span) }
        let whole = dataToken.flatMap { token in scan(token).map { ($0, token) } }
        let text = whole.map { $0.decodedJSON(in: $1.span) } ?? Array(data.utf8)
        if let member { return JSONMembers(text)?.codeUnits(member) }
        if let value = scan(text), value.kind == .string { return value.codeUnits(in: text.span) }
        return whole.map { $0.codeUnits(in: $1.span) } ?? Array(data.utf16)
    }
}

extension JSONDecoder {
    /// Decodes JSON text in which an escape may be half of a surrogate pair (RFC 8259 §8.2): such text is decoded with
    /// U+FFFD, because `JSONDecoder` refuses it.
    package func decode<Value: Decodable>(
        _ type: Value.Type,
        repairing json: Data
    ) throws -> Value {
        do {
            return try decode(type, from: json)
        } catch {
            guard let repaired = JSONEscapes.repaired(Array(json)) else { throw error }
            return try decode(type, from: Data(repaired))
        }
    }
}

/// An event's name and the type of its data.
///
/// ```swift
/// extension EventName<User> {
///     static var addUser: Self { Self("addUser") }
/// }
/// channel.bind(.addUser) { user in list.append(user) }
/// ```
public struct EventName<Payload: Decodable & Sendable>: Sendable, Hashable {
    /// The name on the wire.
    public let text: String

    /// Creates the name of an event whose data is a `Payload` as JSON.
    public init(_ text: String) { self.text = text }
}
