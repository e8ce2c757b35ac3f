import Primitives

extension Response {
    /// Encodes the response.
    ///
    /// - Parameters:
    ///   - framing: The framing that the request requires.
    ///   - date: The date as encoded by ``HTTPDate``.
    /// - Returns: The bytes to send.
    public func encode(for framing: AnswerFraming, date: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes, for: framing, date: date)
        return bytes
    }

    /// Appends the response to earlier ones, so that they can be sent together.
    ///
    /// The version is always HTTP/1.1 (RFC 9110 §2.5). Control characters in values, which could end the head early,
    /// are written as spaces. A name that is not a token traps.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to append to.
    ///   - framing: The framing that the request requires.
    ///   - date: The date as encoded by ``HTTPDate``.
    ///   - serverFields: Encoded field lines that all responses of a server have; see ``encode(_:)``.
    public func append(
        to bytes: inout [UInt8],
        for framing: AnswerFraming,
        date: [UInt8],
        serverFields: [UInt8] = []
    ) {
        let sendsBody = !framing.isHEAD && !status.hasNoContent
        bytes.reserveCapacity(bytes.count + 256 + (sendsBody ? body.count : 0))
        bytes.append("HTTP/1.1 ")
        bytes.append(decimal: status.code)
        bytes.append(Octet.space)
        bytes.append(contentsOf: status.reason.utf8)
        bytes.append("\r\nDate: ")
        bytes.append(contentsOf: date)
        bytes.append("\r\n")
        bytes.append(contentsOf: serverFields)
        var hasUpgrade = false
        for field in fields {
            switch FieldSetter(field.name) {
            case .writer: continue
            case .upgrade: hasUpgrade = true
            case .caller: break
            }
            bytes.append(field: field)
        }
        // RFC 9110 §8.6: no Content-Length with 1xx and 204; with 304 the length of the content is unknown.
        if !status.hasNoContent {
            bytes.append("Content-Length: ")
            bytes.append(decimal: body.count)
            bytes.append("\r\n")
        }
        appendConnection(to: &bytes, framing, hasUpgrade)
        bytes.append("\r\n")
        if sendsBody { bytes.append(contentsOf: body) }
    }

    /// Encodes field lines that several responses share, with their ends; the writer does not set these fields itself.
    public static func encode(_ fields: [Field]) -> [UInt8] {
        var bytes: [UInt8] = []
        for field in fields { bytes.append(field: field) }
        return bytes
    }

    /// Appends Connection (RFC 9112 §9.6) unless the version implies it.
    private func appendConnection(
        to bytes: inout [UInt8],
        _ framing: AnswerFraming,
        _ hasUpgrade: Bool
    ) {
        let closes = closesConnection || !framing.keepAlive
        switch (closes, hasUpgrade) {
        case (true, true): bytes.append("Connection: upgrade, close\r\n")
        case (true, false): bytes.append("Connection: close\r\n")
        case (false, true): bytes.append("Connection: upgrade\r\n")
        case (false, false):
            guard framing.minorVersion == 0 else { return }
            bytes.append("Connection: keep-alive\r\n")
        }
    }
}

/// The part of the program that sets a field of a written message.
enum FieldSetter {
    case writer
    /// The caller sets it; the writer names it in Connection (RFC 9110 §7.8).
    case upgrade
    case caller

    init(_ name: String) {
        switch name.utf8.count {
        case 4 where name.lowercased() == "date": self = .writer
        case 7 where name.lowercased() == "upgrade": self = .upgrade
        case 10 where name.lowercased() == "connection": self = .writer
        case 14 where name.lowercased() == "content-length": self = .writer
        case 17 where name.lowercased() == "transfer-encoding": self = .writer
        default: self = .caller
        }
    }
}

extension [UInt8] {
    /// Appends the bytes of a literal.
    mutating func append(_ literal: StaticString) {
        literal.withUTF8Buffer { append(contentsOf: $0) }
    }

    /// Appends a non-negative number.
    mutating func append(decimal number: Int) {
        if number >= 10 { append(decimal: number / 10) }
        append(0x30 + UInt8(truncatingIfNeeded: number % 10))
    }

    /// Appends a field line; control characters in the value become spaces (RFC 9110 §5.5).
    mutating func append(field: Field) {
        precondition(!field.name.isEmpty, "a field has a name")
        let nameStart = count
        append(contentsOf: field.name.utf8)
        for index in nameStart..<count {
            precondition(
                OctetSet.token.contains(self[index]),
                "a field name has only the characters of a token"
            )
        }
        append(": ")
        let valueStart = count
        append(contentsOf: field.value.utf8)
        for index in valueStart..<count where !Octet.isFieldValue(self[index]) {
            self[index] = Octet.space
        }
        append("\r\n")
    }
}
