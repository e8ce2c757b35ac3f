import Primitives

/// Status line and fields of a response: one copy of its bytes, and places in them.
public struct ResponseHead: Sendable {
    /// The status code.
    public let status: Status

    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    public let minorVersion: Int

    /// The length of the content in bytes; nil when none was announced.
    public let contentLength: Int?

    /// Whether the content comes in chunks (RFC 9112 §7.1).
    public let isChunked: Bool

    /// Whether the server will take another request on the connection (RFC 9112 §9.3).
    public let keepAlive: Bool

    private let section: FieldSection
    private let reasonRange: Range<Int>

    /// The reason phrase as it was sent.
    public var reason: String { section.text(reasonRange) }

    /// All fields in order, names as they were sent.
    public var fields: [Field] { section.all }

    /// The first value of a field.
    ///
    /// - Parameter name: In any case of letters.
    /// - Returns: nil when there is none.
    public func field(_ name: String) -> String? { section.text(name) }

    /// All values of a field.
    ///
    /// - Parameter name: In any case of letters.
    /// - Returns: One value for each line, in order; empty when there is none.
    public func fields(_ name: String) -> [String] { section.texts(name) }

    /// Judges a head whose lines are well-formed, and copies it.
    ///
    /// - Parameters:
    ///   - head: All of it, with the empty line at its end.
    ///   - line: Its first line.
    ///   - fieldsStart: Where the second line begins.
    ///   - framing: What its fields came to.
    /// - Throws: The first rule that the head as a whole breaks.
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

    /// Reads `HTTP-version SP status-code SP [reason-phrase]`.
    ///
    /// The line comes alone, without its ending. The space behind the code may be missing when there
    /// is no reason: many servers leave it out.
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
