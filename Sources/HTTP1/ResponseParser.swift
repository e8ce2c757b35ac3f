/// Parses the responses of one connection (RFC 9112), strictly and without I/O.
///
/// It is used like ``RequestParser``, with two differences. The end of the connection can be the end of a response, so
/// ``finish()`` has to be called there. A response to HEAD looks as if content followed, so ``expect(_:)`` has to be
/// called for each request.
public struct ResponseParser: Sendable {
    /// The result of parsing some bytes.
    public enum Progress: Sendable {
        /// The response is incomplete, or there is none.
        case needsMore
        /// A 1xx response other than 101; the final one follows (RFC 9110 §15.2).
        case interim(ResponseHead)
        /// The head of the final response is complete; its content follows.
        case head(ResponseHead)
        /// The content of the response whose head was returned before; empty if it has none.
        ///
        /// After 101 (Switching Protocols) the bytes of the other protocol follow.
        case content(Content)
    }

    private enum Phase { case head, fixed, chunked, untilEnd, failed(HTTPError) }

    private let limits: HTTPLimits
    private var phase = Phase.head
    private var methods: [Method] = []

    // The head so far; offsets are relative to its beginning, which stays at the caller's index.
    private var scanner = LineScanner()
    private var lineStart = 0
    private var statusLine: StatusLine?
    private var fieldsStart = 0
    private var fields = FieldLines()
    private var framing = MessageFraming()

    // The content so far.
    private var fixed = FixedContent()
    /// Content that ends with the connection.
    private var collected: [UInt8] = []
    private var chunks = ChunkedContent()

    /// Makes a parser for a new connection.
    public init(limits: HTTPLimits = HTTPLimits()) { self.limits = limits }

    /// Records that a request was sent; its response follows those of earlier requests.
    ///
    /// A response without a recorded request is parsed as one to GET.
    public mutating func expect(_ method: Method) { methods.append(method) }

    /// Parses the next bytes.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes that were not consumed.
    ///   - index: Where to continue in `bytes`; moved past the consumed bytes.
    /// - Returns: The next complete part; call again until it is `.needsMore`.
    /// - Throws: The first rule that the response violates; every later call throws the same error.
    public mutating func advance(
        over bytes: Span<UInt8>,
        from index: inout Int
    ) throws(HTTPError) -> Progress {
        do throws(HTTPError) {
            switch phase {
            case .head: return try readHead(bytes, &index)
            case .fixed: return readFixed(bytes, &index)
            case .chunked: return try readChunks(bytes, &index)
            case .untilEnd: return try readOn(bytes, &index)
            case .failed(let error): throw error
            }
        } catch {
            phase = .failed(error)
            fixed = FixedContent()
            collected = []
            chunks = ChunkedContent()
            throw error
        }
    }

    /// Parses the end of the connection.
    ///
    /// - Returns: The content of a response that ends with its connection (RFC 9112 §6.3 rule 8); nil between two
    ///   responses.
    /// - Throws: `.responseTruncated` inside a response, or the error thrown by `advance`. Bytes of an incomplete
    ///   status line were not consumed and are not checked here.
    public mutating func finish() throws(HTTPError) -> Content? {
        switch phase {
        case .untilEnd:
            phase = .head
            let content = collected
            collected = []
            return Content(.collected(content))
        case .head where statusLine == nil: return nil
        case .failed(let error): throw error
        default:
            phase = .failed(.responseTruncated)
            throw .responseTruncated
        }
    }

    private mutating func readHead(
        _ bytes: Span<UInt8>,
        _ index: inout Int
    ) throws(HTTPError) -> Progress {
        let bytes = bytes.extracting(index..<bytes.count)
        if statusLine == nil {
            let line = try scanner.line(
                in: bytes,
                from: 0,
                lengthMax: limits.requestLineLengthMax,
                tooLong: .statusLineTooLong(limit: limits.requestLineLengthMax)
            )
            guard let line else { return .needsMore }
            statusLine = try StatusLine(bytes.extracting(line))
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
        guard let line = statusLine.take() else { return .needsMore }
        let head = try ResponseHead(
            bytes.extracting(0..<lineStart),
            line: line,
            fieldsStart: fieldsStart,
            framing: framing
        )
        index += lineStart
        lineStart = 0
        fields = FieldLines()
        framing = MessageFraming()
        if head.status.isInformational, head.status != 101 { return .interim(head) }
        try begin(head)
        return .head(head)
    }

    /// Determines how the content ends (RFC 9112 §6.3).
    private mutating func begin(_ head: ResponseHead) throws(HTTPError) {
        let method = methods.isEmpty ? Method.get : methods.removeFirst()
        fixed = FixedContent()
        if method == .head || head.status.hasNoContent
            || method == .connect && head.status.isSuccess
        {
            phase = .fixed
        } else if head.isChunked {
            phase = .chunked
        } else if let length = head.contentLength {
            guard length <= limits.bodyLengthMax else {
                throw .contentTooLong(length: length, limit: limits.bodyLengthMax)
            }
            fixed = FixedContent(length: length)
            phase = .fixed
        } else {
            phase = .untilEnd
        }
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

    private mutating func readOn(
        _ bytes: Span<UInt8>,
        _ index: inout Int
    ) throws(HTTPError) -> Progress {
        let range = index..<bytes.count
        guard range.count <= limits.bodyLengthMax - collected.count else {
            throw .contentTooLong(length: nil, limit: limits.bodyLengthMax)
        }
        bytes.extracting(range).withUnsafeBufferPointer { collected.append(contentsOf: $0) }
        index = range.upperBound
        return .needsMore
    }
}
