import Primitives

/// The `position` and `rewind` of a subscription: its client tracks its position in the channel's stream.
public struct PositionRequest: Equatable, Sendable {
    /// The client's last position; `nil` if it has none, `"position":{}`.
    public var position: ChannelPosition?
    /// The client's former socket IDs; messages that exclude one of those connections are left out of the replay.
    ///
    /// A request on the wire contains the last one; the broker knows more of a client with a session token.
    public var formerSocketIDs: [SocketID]
    /// Whether a cached event that belonged to the position did not arrive.
    public var wantsOpening = false
    /// The earlier messages that a client without a position requests.
    public var rewind: Rewind?

    /// Earlier messages, counted back from the present.
    public enum Rewind: Equatable, Sendable {
        /// The last messages.
        case count(Int)
        /// The messages of the last seconds.
        case seconds(Int)

        /// The numbers that a request may have.
        public static let range = 1...Int(SafeInteger.max)
    }

    /// Creates a request with the client's last position, its last socket ID, and the rewind if it has no position.
    public init(
        _ position: ChannelPosition? = nil,
        formerSocketID: SocketID? = nil,
        rewind: Rewind? = nil
    ) {
        self.position = position
        formerSocketIDs = formerSocketID.map { [$0] } ?? []
        self.rewind = rewind
    }

    /// The client's last socket ID, as sent in a request.
    public var formerSocketID: SocketID? {
        get { formerSocketIDs.last }
        set { formerSocketIDs = newValue.map { [$0] } ?? [] }
    }

    /// Writes the members `position` and `rewind`.
    func write(to json: inout JSONWriter) {
        json.name("position")
        json.beginObject()
        if let position {
            position.writeMembers(to: &json)
            if let formerSocketID {
                json.name("socket")
                json.string(formerSocketID.description)
            }
            if wantsOpening {
                json.name("opening")
                json.boolean(true)
            }
        }
        json.endObject()
        guard let rewind else { return }
        json.name("rewind")
        json.beginObject()
        switch rewind {
        case .count(let count):
            json.name("count")
            json.integer(count)
        case .seconds(let seconds):
            json.name("seconds")
            json.integer(seconds)
        }
        json.endObject()
    }
}

/// Why the `position` or `rewind` of a subscription is invalid.
public enum PositionError: Error, Equatable, Sendable {
    /// The value is not an object.
    case notAnObject(String)
    /// The stream ID is missing or invalid.
    case stream
    /// The serial is missing, or not an integer from 0 to 2^53 − 1.
    case serial
    /// The former socket ID is not a socket ID.
    case socket
    /// The rewind has neither `count` nor `seconds`, both, or one that is not an integer from 1 to 2^53 − 1.
    case rewind
}

extension PositionError: CustomStringConvertible {
    /// The fault, and what is expected.
    public var description: String {
        switch self {
        case .notAnObject(let member): "'\(member)' must be an object"
        case .stream:
            "'position' must be {}, or have a 'stream' of at most \(StreamID.lengthMax) letters, digits, "
                + "'_', '-' and '.'"
        case .serial:
            "'position' must have a 'serial', an integer from 0 to \(ChannelPosition.serialMax)"
        case .socket: "the 'socket' of a 'position' must be a socket ID"
        case .rewind:
            "'rewind' must have either 'count' or 'seconds', an integer from 1 to \(SafeInteger.max)"
        }
    }
}

// MARK: - Parsing

extension PositionRequest {
    /// Reads the members of a subscription's data; `nil` if it has neither.
    static func read(
        position: JSONValue?,
        rewind: JSONValue?,
        in text: Span<UInt8>
    ) throws(PositionError) -> PositionRequest? {
        guard let position, position.kind != .null else { return nil }
        var request = PositionRequest()
        let members = try object(position, "position", in: text)
        if !members.isEmpty {
            request.position = try ChannelPosition(members)
            if let socket = members.string("socket") {
                guard let socketID = SocketID(socket) else { throw .socket }
                request.formerSocketID = socketID
            }
            request.wantsOpening = members.boolean("opening") ?? false
        }
        guard let rewind, rewind.kind != .null else { return request }
        let span = try object(rewind, "rewind", in: text)
        switch (span.integer("count"), span.integer("seconds")) {
        case (let count?, nil) where Rewind.range.contains(count):
            request.rewind = .count(count)
        case (nil, let seconds?) where Rewind.range.contains(seconds):
            request.rewind = .seconds(seconds)
        default: throw .rewind
        }
        return request
    }

    private static func object(
        _ value: JSONValue,
        _ name: String,
        in text: Span<UInt8>
    ) throws(PositionError) -> MessageData {
        guard value.kind == .object, let data = try? MessageData(value.token(in: text)) else {
            throw .notAnObject(name)
        }
        return data
    }
}

extension ChannelPosition {
    /// Reads an object with `stream` and `serial`; `nil` for any other value.
    init?(_ value: JSONValue, in text: Span<UInt8>) {
        guard value.kind == .object, let members = try? MessageData(value.token(in: text)),
            let position = try? ChannelPosition(members)
        else { return nil }
        self = position
    }

    /// Reads the members `stream` and `serial`.
    init(_ members: MessageData) throws(PositionError) {
        guard let stream = members.string("stream").flatMap(StreamID.init) else { throw .stream }
        guard let serial = members.serial("serial") else { throw .serial }
        self.init(stream: stream, serial: serial)
    }

    /// Writes the members `stream` and `serial`.
    func writeMembers(to json: inout JSONWriter) {
        json.name("stream")
        json.string(stream.text)
        json.name("serial")
        json.integer(Int(serial))
    }
}

extension MessageData {
    /// Returns a serial, otherwise `nil`.
    func serial(_ name: StaticString) -> UInt64? {
        integer(name).flatMap { UInt64(safe: $0) }
    }
}
