/// The error in a malformed message; the connection stays open, and a broker answers with a `pusher:error`.
public enum MessageError: Error, Equatable, Sendable {
    /// The message is not JSON.
    case json(JSONError)
    /// The message, or the data of a `pusher:` event, is JSON but not an object.
    case notAnObject
    /// A required member is absent.
    case missing(String)
    /// A member is not a string.
    case notAString(String)
    /// A member that must be text has an escape that is half of a surrogate pair.
    case loneSurrogate(String)
    /// A channel event whose name does not begin with `client-`.
    case notPrefixed
    /// The name of a client event is invalid.
    case eventName(EventNameError)
    /// The data of a client event is longer than `lengthMax` bytes.
    case dataTooLong(length: Int, lengthMax: Int)
    /// The key of a client event is empty or too long.
    case invalidKey
    /// The position of a subscription is invalid.
    case invalidPosition(channel: String, PositionError)
}

extension MessageError {
    /// Checks that a value can be compared or used as a name.
    static func requireText(_ value: JSONValue, _ name: StaticString) throws(MessageError) {
        guard !value.hasLoneSurrogate else { throw .loneSurrogate(name.description) }
    }

    /// The exceeded limit, if the error is one.
    public var limit: Limit? {
        if case .dataTooLong = self { .eventDataLength } else { nil }
    }
}

extension MessageError: CustomStringConvertible {
    /// The text of the `pusher:error`.
    public var description: String {
        switch self {
        case .json(let error): "Invalid message: \(error)"
        case .notAnObject: "Invalid message: a JSON object is expected, and one as its data"
        case .missing(let member): "Invalid message: '\(member)' is missing"
        case .notAString(let member): "Invalid message: '\(member)' must be a string"
        case .loneSurrogate(let member):
            "Invalid message: '\(member)' must not contain half a surrogate pair"
        case .notPrefixed:
            "Client event rejected - client events must be prefixed by 'client-'"
        case .eventName(let error): "Client event rejected - invalid event name: \(error)"
        case .dataTooLong(let length, let lengthMax):
            "Client event rejected - its data has \(length) bytes, "
                + "at most \(lengthMax) are allowed"
        case .invalidKey:
            "Client event rejected - its key must have 1 to \(IdempotencyKey.lengthMax) characters"
        case .invalidPosition(let channel, let error):
            "Invalid position of the subscription to channel \(channel): \(error)"
        }
    }
}
