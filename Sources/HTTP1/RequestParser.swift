import Primitives

/// Reads the requests of one connection from its bytes (RFC 9112), strictly and without I/O.
///
/// The caller keeps what was not consumed and gives it again in front of what comes next:
///
/// ```swift
/// var index = 0
/// while true {
///     switch try parser.advance(over: bytes, from: &index) {
///     case .needsMore: return index  // consumed; bytes[index...] come again
///     case .head(let head): self.head = head
///     case .content(let content): content.withBytes(in: bytes) { answer(head, $0) }
///     }
/// }
/// ```
///
/// Where two readers of the same bytes could disagree about where a message ends, the message is
/// refused: no bare LF, no folding, no repeated or conflicting lengths, no unknown coding.
public struct RequestParser: Sendable {
    /// How far the bytes have brought the parser.
    public enum Progress: Sendable {
        /// The request is incomplete, or there is none.
        case needsMore
        /// A head is complete. Its content comes next; a caller that answers now, or upgrades,
        /// does not go on.
        case head(RequestHead)
        /// The content of the request whose head came before; empty when it has none.
        case content(Content)
    }

    private enum Phase { case head, fixed, chunked, failed(HTTPError) }

    private let limits: HTTPLimits
    private var phase = Phase.head

    // The head so far; places are counted from its beginning, which stays at the caller's index.
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

    /// Begins with a connection's first byte.
    ///
    /// - Parameter limits: What the peer may make the parser read and keep.
    public init(limits: HTTPLimits = HTTPLimits()) { self.limits = limits }

    /// Whether nothing of a request has been consumed: the next byte is the first of a request.
    public var isBetweenRequests: Bool {
        if case .head = phase { lineStart == 0 } else { false }
    }

    /// The memory that content takes of which a part has arrived, in bytes.
    public var collectedByteCount: Int { fixed.collectedByteCount + chunks.collectedByteCount }

    /// Drops the content of the request whose head was returned last as it arrives, instead of collecting it.
    ///
    /// ``Progress/content(_:)`` still says where it ends; what comes with it is empty.
    ///
    /// - Parameter lengthMax: The longest content to read in chunks, in bytes; more throws `.contentTooLong`.
    public mutating func discardContent(lengthMax: Int) {
        switch phase {
        case .fixed: fixed.isDiscarded = true
        case .chunked: chunks.discardedLengthMax = lengthMax
        case .head, .failed: break
        }
    }

    /// Reads on.
    ///
    /// - Parameters:
    ///   - bytes: What has been received and not consumed.
    ///   - index: Where to read on in `bytes`; left behind what was consumed.
    /// - Returns: What is complete; call again until it is `.needsMore`.
    /// - Throws: The first rule that the request breaks. The connection is then of no further use:
    ///   every later call throws the same.
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
            try framing.note(fields.read(bytes, line, limits: limits), of: bytes)
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

    /// Takes one empty line in front of a request, which old clients send (RFC 9112 §2.2).
    ///
    /// - Returns: Whether the head can begin.
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
        // A TLS greeting, or a peer of another protocol, is refused at its first byte.
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

/// The content of a message: a part of the bytes given last, or a copy where it came in pieces.
public struct Content: Sendable {
    enum Storage: Sendable {
        /// A range of the bytes given to the call that returned this.
        case lent(Range<Int>)
        case collected([UInt8])
    }

    let storage: Storage

    init(_ storage: Storage) { self.storage = storage }

    /// The length of the content, in bytes.
    public var count: Int {
        switch storage {
        case .lent(let range): range.count
        case .collected(let bytes): bytes.count
        }
    }

    /// Lends the content.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that were given to the call which returned the content.
    ///   - body: Receives the content, without a copy where it lay whole in `bytes`.
    /// - Returns: What `body` returned.
    /// - Throws: What `body` throws.
    public func withBytes<R, E: Error>(
        in bytes: Span<UInt8>,
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        switch storage {
        case .lent(let range): try body(bytes.extracting(range))
        case .collected(let content): try body(content.span)
        }
    }

    /// The content in an array of its own; what came in pieces is one already.
    ///
    /// - Parameter bytes: The bytes that were given to the call which returned the content.
    /// - Returns: The content.
    public func copy(from bytes: Span<UInt8>) -> [UInt8] {
        switch storage {
        case .lent(let range): bytes.copy(range)
        case .collected(let content): content
        }
    }
}
