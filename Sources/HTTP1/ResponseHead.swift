import Primitives

/// The status line and fields of a response: one copy of the bytes, and ranges in it.
public struct ResponseHead: Sendable {
    /// The status code.
    public let status: Status

    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    public let minorVersion: Int

    /// The announced length of the content, in bytes; nil if there is none.
    public let contentLength: Int?

    /// Whether the content is chunked (RFC 9112 §7.1).
    public let isChunked: Bool

    /// Whether the connection may carry another request (RFC 9112 §9.3).
    public let keepAlive: Bool

    private let section: FieldSection
    private let reasonRange: Range<Int>

    /// The reason phrase as it was sent.
    public var reason: String { section.text(reasonRange) }

    /// All fields in order, with the names as they were sent.
    public var fields: [Field] { section.all }

    /// Returns the first value of a field with this case-insensitive name; nil if there is none.
    public func field(_ name: String) -> String? { section.text(name) }

    /// Returns all values of a field with this case-insensitive name, one for each line, in order.
    public func fields(_ name: String) -> [String] { section.texts(name) }

    /// Validates a head whose lines are well-formed, and copies it.
    ///
    /// - Parameters:
    ///   - head: The whole head, including the empty line at its end.
    ///   - line: The parsed first line.
    ///   - fieldsStart: The index of the second line.
    ///   - framing: The parsed framing fields.
    /// - Throws: The first rule that the head violates as a whole.
    init(
        _ head: Span<UInt8>,
        line: StatusLine,
        fieldsStart: Int,
        framing: MessageFraming
    ) throws(HTTPError) {
        try framing.check(head, minorVersion: line.minorVersion)
        status = line.status
        minorVersion = line.minorVersion
        reasonRange = line.reason
        contentLength = framing.contentLength
        isChunked = framing.isChunked
        keepAlive = !framing.closes && (line.minorVersion > 0 || framing.keepsAlive)
        section = FieldSection(head.copy(head.indices), from: fieldsStart)
    }
}

/// The first line of a response (RFC 9112 §4).
struct StatusLine: Sendable {
    let minorVersion: Int
    let status: Status
    let reason: Range<Int>

    /// Parses `HTTP-version SP status-code SP [reason-phrase]`, without the line ending.
    ///
    /// The space after the code may be missing if there is no reason, because many servers omit it.
    init(_ line: Span<UInt8>) throws(HTTPError) {
        guard line.count >= 12, line[8] == Octet.space else { throw .statusLineMalformed }
        minorVersion = try HTTPVersion.minor(line.extracting(0..<8)) { .statusLineMalformed }
        var code = 0
        for index in 9..<12 {
            guard line[index].isDigit else { throw .statusLineMalformed }
            code = code * 10 + Int(line[index] - 0x30)
        }
        guard 100..<600 ~= code else { throw .statusLineMalformed }
        status = Status(code)
        guard line.count > 12 else {
            reason = 12..<12
            return
        }
        guard line[12] == Octet.space else { throw .statusLineMalformed }
        reason = 13..<line.count
        for index in reason where !Octet.isFieldValue(line[index]) { throw .statusLineMalformed }
    }
}
