import Primitives

/// The rules for the name of an event: any characters, up to a length.
enum EventName {
    /// Validates the name of an event.
    static func check(
        _ name: JSONValue,
        in text: Span<UInt8>,
        limits: ProtocolLimits
    ) throws(EventNameError) {
        guard name.decodedLength > 0 else { throw .empty }
        guard !name.hasLoneSurrogate else { throw .loneSurrogate }
        // The fast path: a name has at most as many characters as bytes.
        guard name.decodedLength > limits.eventNameLengthMax else { return }
        let length = name.decoded(in: text).count { $0 & 0xC0 != 0x80 }
        guard length <= limits.eventNameLengthMax else {
            throw .tooLong(length: length, lengthMax: limits.eventNameLengthMax)
        }
    }

    /// Whether the name is reserved for the server.
    static func isReserved(_ name: JSONValue, in text: Span<UInt8>) -> Bool {
        starts(name, with: "pusher:", in: text) || starts(name, with: "pusher_internal:", in: text)
    }

    /// Whether the decoded name begins with `prefix`.
    static func starts(
        _ name: JSONValue,
        with prefix: StaticString,
        in text: Span<UInt8>
    ) -> Bool {
        if name.hasEscapes { return name.decoded(in: text).span.starts(with: prefix) }
        return text.extracting(name.content).starts(with: prefix)
    }
}

/// The rule that an invalid event name violates.
public enum EventNameError: Error, Equatable, Sendable {
    /// The name is empty.
    case empty
    /// The name has an escape that is half of a surrogate pair.
    case loneSurrogate
    /// The name has more than `lengthMax` characters.
    case tooLong(length: Int, lengthMax: Int)
}

extension EventNameError: CustomStringConvertible {
    /// The violation, as a part of a sentence.
    public var description: String {
        switch self {
        case .empty: "it is empty"
        case .loneSurrogate: "it contains half a surrogate pair"
        case .tooLong(let length, let lengthMax):
            "it has \(length) characters, at most \(lengthMax) are allowed"
        }
    }
}
