import Primitives

/// Parses the requests of one connection (RFC 9112), strictly and without I/O.
///
/// The caller keeps the unconsumed bytes and passes them again before the next ones:
///
/// ```swift
/// var index = 0
/// while true {
///     switch try parser.advance(over: bytes, from: &index) {
///     case .needsMore: return index  // consumed; bytes[index...] are passed again
///     case .head(let head): self.head = head
///     case .content(let content): content.withBytes(in: bytes) { answer(head, $0) }
///     }
/// }
/// ```
///
/// If two recipients could disagree about the end of a message, the message is refused. So a bare LF, folding, repeated
/// or conflicting lengths, and unknown codings are not accepted.
public struct RequestParser: Sendable {
    /// The result of parsing some bytes.
    public enum Progress: Sendable {
        /// The request is incomplete, or there is none.
        case needsMore
        /// A head is complete, and its content follows.
        ///
        /// A caller that answers now, or upgrades, does not continue.
        case head(RequestHead)
        /// The content of the request whose head was returned before; empty if it has none.
        case content(Content)
    }

    private enum Phase { case head, fixed, chunked, failed(HTTPError) }

    private let limits: HTTPLimits
    private var phase = Phase.head

    // The head so far; offsets are relative to its beginning, which stays at the caller's index.
    private var scanner = LineScanner()
    private var hasSkippedEmptyLine = false
    private var lineStart = 0
    private var requestLine: RequestLine?
    private var fieldsStart = 0
    private var fields = FieldLines()
    private var framing = MessageFraming()

    // The content so far.
    private var fixed = FixedContent()
    private var chunks = ChunkedContent()

    /// Makes a parser for a new connection.
    public init(limits: HTTPLimits = HTTPLimits()) { self.limits = limits }

    /// Whether the next byte is the first of a request.
    public var isBetweenRequests: Bool {
        if case .head = phase { lineStart == 0 } else { false }
    }

    /// The memory of incomplete content, in bytes.
    public var collectedByteCount: Int { fixed.collectedByteCount + chunks.collectedByteCount }

    /// Discards the content of the request whose head was returned last, instead of collecting it.
    ///
    /// ``Progress/content(_:)`` is still returned at its end, with empty content.
    ///
    /// - Parameter lengthMax: The longest chunked content to read, in bytes; more throws `.contentTooLong`.
    public mutating func discardContent(lengthMax: Int) {
        switch phase {
        case .fixed: fixed.isDiscarded = true
        case .chunked: chunks.discardedLengthMax = lengthMax
        case .head, .failed: break
        }
    }

    /// Parses the next bytes.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes that were not consumed.
    ///   - index: Where to continue in `bytes`; moved past the consumed bytes.
    /// - Returns: The next complete part; call again until it is `.needsMore`.
    /// - Throws: The first rule that the request violates. The connection cannot be used further: every later call
    ///   throws the same error.
    public mutating func advance(
        over bytes: Span<UInt8>,
        from index: inout Int
    ) throws(HTTPError) -> Progress {
        do throws(HTTPError) {
            switch phase {
            case .head: return try readHead(bytes, &index)
            case .fixed: return readFixed(bytes, &index)
            case .chunked: return try readChunks(bytes, &index)
            case .failed(let error): throw error
            }
        } catch {
            phase = .failed(error)
            fixed = FixedContent()
            chunks = ChunkedContent()
            throw error
        }
    }

    private mutating func readHead(
        _ bytes: Span<UInt8>,
        _ index: inout Int
    ) throws(HTTPError) -> Progress {
        guard try skipEmptyLine(bytes, &index) else { return .needsMore }
        let bytes = bytes.extracting(index..<bytes.count)
        if requestLine == nil {
            let line = try scanner.line(
                in: bytes,
                from: 0,
                lengthMax: limits.requestLineLengthMax,
                tooLong: .requestLineTooLong(limit: limits.requestLineLengthMax)
            )
            guard let line else { return .needsMore }
            requestLine = try RequestLine(bytes.extracting(line))
            fieldsStart = line.upperBound + 2
            lineStart = fieldsStart
        }
        while true {
            let line = try scanner.line(
                in: bytes,
                from: lineStart,
                lengthMax: fields.remaining(limits),
                tooLong: .fieldsTooLong(limit: limits.fieldBytesMax)
            )
            guard let line else { return .needsMore }
            lineStart = line.upperBound + 2
            if line.isEmpty { break }
            try framing.record(fields.read(bytes, line, limits: limits), of: bytes)
        }
        guard let line = requestLine.take() else { return .needsMore }
        let head = try RequestHead(
            bytes.extracting(0..<lineStart),
            line: line,
            fieldsStart: fieldsStart,
            framing: framing,
            limits: limits
        )
        index += lineStart
        hasSkippedEmptyLine = false
        lineStart = 0
        fields = FieldLines()
        framing = MessageFraming()
        fixed = FixedContent(length: head.contentLength ?? 0)
        phase = head.isChunked ? .chunked : .fixed
        return .head(head)
    }

    /// Skips one empty line before a request, which old clients send (RFC 9112 §2.2); returns whether the head can
    /// begin.
    private mutating func skipEmptyLine(
        _ bytes: Span<UInt8>,
        _ index: inout Int
    ) throws(HTTPError) -> Bool {
        guard lineStart == 0 else { return true }
        while index < bytes.count, bytes[index] == Octet.carriageReturn {
            guard index + 1 < bytes.count else { return false }
            guard bytes[index + 1] == Octet.lineFeed else { throw .requestLineMalformed }
            guard !hasSkippedEmptyLine else { throw .emptyLine }
            hasSkippedEmptyLine = true
            index += 2
        }
        guard index < bytes.count else { return false }
        // A TLS ClientHello, or another protocol, is refused at its first byte.
        guard OctetSet.token.contains(bytes[index]) else {
            throw bytes[index] == Octet.lineFeed ? .bareLineFeed : .requestLineMalformed
        }
        return true
    }

    private mutating func readFixed(_ bytes: Span<UInt8>, _ index: inout Int) -> Progress {
        guard let content = fixed.receive(bytes, from: &index) else { return .needsMore }
        phase = .head
        return .content(content)
    }

    private mutating func readChunks(
        _ bytes: Span<UInt8>,
        _ index: inout Int
    ) throws(HTTPError) -> Progress {
        guard try chunks.receive(bytes, from: &index, limits: limits) else { return .needsMore }
        phase = .head
        let content = chunks.bytes
        chunks = ChunkedContent()
        return .content(Content(.collected(content)))
    }
}

/// The content of a message: a range of the bytes passed last, or a copy if it arrived in pieces.
public struct Content: Sendable {
    enum Storage: Sendable {
        /// A range of the bytes passed to the call that returned this.
        case borrowed(Range<Int>)
        case collected([UInt8])
    }

    let storage: Storage

    init(_ storage: Storage) { self.storage = storage }

    /// The length of the content, in bytes.
    public var count: Int {
        switch storage {
        case .borrowed(let range): range.count
        case .collected(let bytes): bytes.count
        }
    }

    /// Calls `body` with the content.
    ///
    /// - Parameters:
    ///   - bytes: The bytes passed to the call that returned the content.
    ///   - body: Called with the content, without a copy if all of it is in `bytes`.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    public func withBytes<R, E: Error>(
        in bytes: Span<UInt8>,
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        switch storage {
        case .borrowed(let range): try body(bytes.extracting(range))
        case .collected(let content): try body(content.span)
        }
    }

    /// Returns the content as an array, without a copy if it arrived in pieces.
    ///
    /// `bytes` are the bytes passed to the call that returned the content.
    public func copy(from bytes: Span<UInt8>) -> [UInt8] {
        switch storage {
        case .borrowed(let range): bytes.copy(range)
        case .collected(let content): content
        }
    }
}
