import Primitives

/// The request line and fields of a request: one copy of the bytes, and ranges in it.
///
/// Strings are made on request. What every request is asked for is parsed once, on arrival: the method, the version, the
/// length of the content, whether the connection stays open, and whether there are certain fields. On a hot path use the methods that pass
/// spans or compare with a `StaticString`; they do not allocate. A head never changes. It is a class so that passing it
/// on is cheap.
public final class RequestHead: Sendable {
    /// The method.
    public let method: Method

    /// 1 for HTTP/1.1 and later versions of HTTP/1, 0 for HTTP/1.0.
    public let minorVersion: Int

    /// The form in which the target was sent.
    public let targetForm: TargetForm

    /// The announced length of the content, in bytes; nil if there is none.
    public let contentLength: Int?

    /// Whether the content is chunked (RFC 9112 §7.1).
    public let isChunked: Bool

    /// Whether the connection may carry another request (RFC 9112 §9.3).
    public let keepAlive: Bool

    /// Whether the client waits for 100 (Continue) before it sends content (RFC 9110 §10.1.1).
    public let expectsContinue: Bool

    /// Whether the client requests another protocol (RFC 9110 §7.8).
    ///
    /// It does if there is an Upgrade field, Connection names it, and the version is 1.1.
    public let isUpgrade: Bool

    /// Whether there is an X-Forwarded-For field.
    public let isForwarded: Bool

    /// Whether there is an Idempotency-Key or X-Idempotency-Key field.
    public let hasIdempotencyKey: Bool

    private let section: FieldSection
    private let targetRange: Range<Int>
    private let pathRange: Range<Int>
    private let queryRange: Range<Int>?
    private let authorityRange: Range<Int>?
    /// The value of the Upgrade field; nil if there is none, or more than one.
    private let upgradeRange: Range<Int>?

    /// Whether content follows the head.
    public var hasContent: Bool { isChunked || (contentLength ?? 0) > 0 }

    /// The request target as it was sent.
    public var target: String { section.text(targetRange) }

    /// The path as it was sent, percent-encoded and without the query.
    ///
    /// "/" if the target is in absolute form without a path, "*" for the asterisk form, empty for the authority form.
    public var path: String { section.text(pathRange) }

    /// The part of the target after the first `?`, as it was sent; nil if there is none.
    public var query: String? { queryRange.map { section.text($0) } }

    /// The host and port of the target if it has them (RFC 9112 §3.2.2), else of the Host field.
    public var authority: String? { authorityRange.map { section.text($0) } }

    /// All fields in order, with the names as they were sent.
    public var fields: [Field] { section.all }

    /// The number of field lines.
    public var fieldCount: Int {
        var count = 0
        section.forEach { _, _ in count += 1 }
        return count
    }

    /// Returns the first value of a field with this case-insensitive name; nil if there is none.
    public func field(_ name: String) -> String? { section.text(name) }

    /// Returns all values of a field with this case-insensitive name, one for each line, in order.
    public func fields(_ name: String) -> [String] { section.texts(name) }

    /// Calls `body` with the target as it was sent.
    public func withTarget<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try section.withBytes(targetRange, body)
    }

    /// Calls `body` with the path and query as they were sent, in either form of the target.
    ///
    /// A server has to accept the absolute form as well as the origin form (RFC 9112 §3.2.2).
    public func withPathAndQuery<R, E: Error>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        // If the absolute form has no path, the path is a slash stored after the head.
        guard targetRange.contains(pathRange.lowerBound) else {
            return try section.withBytes(pathRange, body)
        }
        return try section.withBytes(pathRange.lowerBound..<targetRange.upperBound, body)
    }

    /// Calls `body` with the path as it was sent, without the query.
    public func withPath<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try section.withBytes(pathRange, body)
    }

    /// Calls `body` with the query as it was sent; an empty span if there is none.
    public func withQuery<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try section.withBytes(queryRange ?? 0..<0, body)
    }

    /// Calls `body` with the first value of a field.
    ///
    /// - Parameters:
    ///   - name: The name in lower case.
    ///   - body: Called with the value, without white space around it.
    /// - Returns: The result of `body`; nil if there is no such field.
    /// - Throws: The error of `body`.
    public func withField<R, E: Error>(
        _ name: StaticString,
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R? {
        guard let range = section.first(name) else { return nil }
        return try section.withBytes(range, body)
    }

    /// Calls `body` with the name of each field as it was sent, and its value without surrounding white space, in
    /// order.
    public func forEachField(_ body: (_ name: Span<UInt8>, _ value: Span<UInt8>) -> Void) {
        section.forEach { body($0.extracting($1.name), $0.extracting($1.value)) }
    }

    /// Returns whether the path, as it was sent, is `path`.
    public func hasPath(_ path: StaticString) -> Bool { withPath { $0.equals(path) } }

    /// Returns whether the path, as it was sent, begins with `prefix`.
    public func hasPathPrefix(_ prefix: StaticString) -> Bool {
        let length = prefix.utf8CodeUnitCount
        guard pathRange.count >= length else { return false }
        return withPath { $0.extracting(0..<length).equals(prefix) }
    }

    /// Returns whether a field that is a comma-separated list contains `element` in any of its lines.
    ///
    /// Both are given in lower case; the comparison is case-insensitive.
    public func field(_ name: StaticString, contains element: StaticString) -> Bool {
        var isFound = false
        section.forEach { bytes, line in
            guard bytes.extracting(line.name).equalsIgnoringCase(name) else { return }
            if bytes.hasListElement(element, in: line.value) { isFound = true }
        }
        return isFound
    }

    /// Returns whether the client requests this protocol, given in lower case; see ``isUpgrade``.
    public func isUpgrade(to name: StaticString) -> Bool {
        guard isUpgrade else { return false }
        guard let upgradeRange else { return field("upgrade", contains: name) }
        return section.withBytes(upgradeRange) { $0.hasListElement(name, in: $0.indices) }
    }

    /// Validates a head whose lines are well-formed, and copies it.
    ///
    /// - Parameters:
    ///   - head: The whole head, including the empty line at its end.
    ///   - line: The parsed first line.
    ///   - fieldsStart: The index of the second line.
    ///   - framing: The parsed framing fields.
    ///   - limits: The limits of a message.
    /// - Throws: The first rule that the head violates as a whole.
    init(
        _ head: Span<UInt8>,
        line: RequestLine,
        fieldsStart: Int,
        framing: MessageFraming,
        limits: HTTPLimits
    ) throws(HTTPError) {
        try framing.check(head, minorVersion: line.minorVersion)
        if line.minorVersion > 0, framing.host == nil { throw .hostMissing }
        if let host = framing.host, !RequestTarget.isAuthority(head, host) {
            throw .hostMalformed(head.text(host))
        }
        if let length = framing.contentLength, length > limits.bodyLengthMax {
            throw .contentTooLong(length: length, limit: limits.bodyLengthMax)
        }
        if line.minorVersion > 0, let expectation = framing.expectation {
            guard head.extracting(expectation).equalsIgnoringCase("100-continue") else {
                throw .expectationUnknown(head.text(expectation))
            }
            expectsContinue = framing.hasContent
            // There is content of unknown length.
            if !framing.isChunked, framing.contentLength == nil { throw .lengthRequired }
        } else {
            expectsContinue = false
        }
        // RFC 1945 §8.3: HTTP/1.0 requires a valid length, because content has no other end.
        if line.minorVersion == 0, framing.contentLength == nil {
            switch line.method {
            case .post, .put, .patch: throw .lengthRequired
            default: break
            }
        }
        method = line.method
        minorVersion = line.minorVersion
        targetForm = line.target.form
        contentLength = framing.contentLength
        isChunked = framing.isChunked
        keepAlive = !framing.closes && (line.minorVersion > 0 || framing.keepsAlive)
        (isForwarded, hasIdempotencyKey) = (framing.isForwarded, framing.hasIdempotencyKey)
        isUpgrade = framing.upgrade != nil && framing.hasUpgradeOption && line.minorVersion > 0
        targetRange = line.targetRange
        queryRange = line.target.query
        authorityRange = line.target.authority ?? framing.host
        upgradeRange = framing.repeatsUpgrade ? nil : framing.upgrade
        var copy = head.copy(head.indices)
        if line.target.form == .absolute, line.target.path.isEmpty {
            pathRange = copy.count..<copy.count + 1
            copy.append(UInt8(ascii: "/"))
        } else {
            pathRange = line.target.path
        }
        section = FieldSection(copy, from: fieldsStart)
    }
}

/// The first line of a request (RFC 9112 §3), as ranges relative to its beginning.
struct RequestLine: Sendable {
    let method: Method
    let targetRange: Range<Int>
    let target: RequestTarget
    let minorVersion: Int

    /// Parses `method SP request-target SP HTTP-version`, without the line ending.
    init(_ line: Span<UInt8>) throws(HTTPError) {
        let methodEnd = line.end(of: .token, in: line.indices)
        guard methodEnd > 0, methodEnd < line.count, line[methodEnd] == Octet.space else {
            throw .requestLineMalformed
        }
        guard let end = line.firstIndex(of: Octet.space, from: methodEnd + 1), end > methodEnd + 1
        else { throw .requestLineMalformed }
        targetRange = methodEnd + 1..<end
        minorVersion = try HTTPVersion.minor(line.extracting(end + 1..<line.count)) {
            .requestLineMalformed
        }
        method = Method(line, 0..<methodEnd)
        target = try RequestTarget(line, targetRange, method: method)
    }
}

/// The version of a start line (RFC 9112 §2.3).
enum HTTPVersion {
    /// Parses `HTTP/1.x`.
    ///
    /// - Returns: 0 for HTTP/1.0; 1 for every later version of HTTP/1, which a recipient processes as the highest that
    ///   it knows (RFC 9110 §2.5).
    /// - Throws: `malformed()`, or `.versionUnsupported` for another major version.
    static func minor(
        _ text: Span<UInt8>,
        malformed: () -> HTTPError
    ) throws(HTTPError) -> Int {
        guard text.count == 8, text.extracting(0..<5).equals("HTTP/"), text[5].isDigit,
            text[6] == UInt8(ascii: "."), text[7].isDigit
        else { throw malformed() }
        guard text[5] == UInt8(ascii: "1") else { throw .versionUnsupported(text.text(0..<8)) }
        return text[7] == UInt8(ascii: "0") ? 0 : 1
    }
}
