import Primitives

/// The rules for the name of an event: any characters, but not too many of them.
enum EventName {
    /// Checks a name that somebody gave an event.
    static func check(
        _ name: JSONValue,
        in text: Span<UInt8>,
        limits: ProtocolLimits
    ) throws(EventNameError) {
        guard name.decodedLength > 0 else { throw .empty }
        // Few names are longer in bytes than the limit in characters, so few are counted.
        guard name.decodedLength > limits.eventNameLengthMax else { return }
        let length = name.decoded(in: text).count { $0 & 0xC0 != 0x80 }
        guard length <= limits.eventNameLengthMax else {
            throw .tooLong(length: length, lengthMax: limits.eventNameLengthMax)
        }
    }

    /// Whether the server alone may send events of this name.
    static func isReserved(_ name: JSONValue, in text: Span<UInt8>) -> Bool {
        starts(name, with: "pusher:", in: text) || starts(name, with: "pusher_internal:", in: text)
    }

    /// Whether a name begins with `prefix`, however it is written.
    static func starts(
        _ name: JSONValue,
        with prefix: StaticString,
        in text: Span<UInt8>
    ) -> Bool {
        if name.hasEscapes { return name.decoded(in: text).span.starts(with: prefix) }
        return text.extracting(name.content).starts(with: prefix)
    }
}

/// What is wrong with the name of an event.
public enum EventNameError: Error, Equatable, Sendable {
    /// There is no name.
    case empty
    /// The name has more than `lengthMax` characters.
    case tooLong(length: Int, lengthMax: Int)
}

extension EventNameError: CustomStringConvertible {
    /// What is wrong, as a part of a sentence.
    public var description: String {
        switch self {
        case .empty: "it is empty"
        case .tooLong(let length, let lengthMax):
            "it has \(length) characters, at most \(lengthMax) are allowed"
        }
    }
}
