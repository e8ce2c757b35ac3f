import Digests
import Primitives

/// Whose key a request names.
public enum KeyOwner: Sendable {
    /// The app in the path; its secret for this key.
    case app(AppSecret)
    /// Another app than the one in the path.
    case otherApp
    /// Nobody.
    case nobody
}

/// The signature on every request to the HTTP API.
public enum RequestSignature {
    /// How far a timestamp may lie from the server's clock: less than this many seconds, either way.
    public static let timestampWindow: Int64 = 600

    private static let emptyMD5: StaticString = "d41d8cd98f00b204e9800998ecf8427e"

    /// Verifies a whole request: ``verifyHead(method:path:pathPrefix:parameters:now:owner:)``, then
    /// ``verifyBody(_:parameters:)``.
    ///
    /// - Parameters:
    ///   - method: The request method, upper case.
    ///   - path: The path as received, up to the `?`.
    ///   - pathPrefix: What a reverse proxy put in front of `/apps`, such as `/push`; empty when there is nothing.
    ///   - parameters: All parameters of the query, the signature among them.
    ///   - body: The content as received.
    ///   - now: Seconds since 1970.
    ///   - owner: Returns whose an app key is; the bytes are valid during the call.
    /// - Throws: 401 with the text of the hosted service, for the first of these that fails: key, version, timestamp,
    ///   signature, body digest.
    public static func verify(
        method: String,
        path: Span<UInt8>,
        pathPrefix: String = "",
        parameters: QueryParameters,
        body: Span<UInt8>,
        now: Int64,
        owner: (Span<UInt8>) -> KeyOwner
    ) throws(APIError) {
        try verifyHead(
            method: method,
            path: path,
            pathPrefix: pathPrefix,
            parameters: parameters,
            now: now,
            owner: owner
        )
        try verifyBody(body, parameters: parameters)
    }

    /// Verifies that the head of a request was signed with the app's secret, now; its body has yet to come.
    ///
    /// The signature covers method, path and query. The body's digest is a parameter of the query, `body_md5`, so
    /// that the signature can be verified before any of the body is read.
    ///
    /// Official libraries disagree on details of the signed text. What differs is tried in turn, the usual form first:
    /// the path without and with the prefix, as received and percent-decoded; a `+` as itself and as a space; and
    /// arrays as ``StringToSign/ArrayForm`` lists them. Every comparison takes constant time.
    ///
    /// - Parameters:
    ///   - method: The request method, upper case.
    ///   - path: The path as received, up to the `?`.
    ///   - pathPrefix: What a reverse proxy put in front of `/apps`, such as `/push`; empty when there is nothing.
    ///   - parameters: All parameters of the query, the signature among them.
    ///   - now: Seconds since 1970.
    ///   - owner: Returns whose an app key is; the bytes are valid during the call.
    /// - Throws: 401 with the text of the hosted service, for the first of these that fails: key, version, timestamp,
    ///   signature.
    public static func verifyHead(
        method: String,
        path: Span<UInt8>,
        pathPrefix: String = "",
        parameters: QueryParameters,
        now: Int64,
        owner: (Span<UInt8>) -> KeyOwner
    ) throws(APIError) {
        let secret = try secret(of: parameters, owner: owner)
        try checkVersion(parameters)
        try checkTimestamp(parameters, now: now)
        guard let signature = parameters.signature else {
            throw .unauthorized("Missing parameter: auth_signature")
        }
        let start = start(of: path, behind: pathPrefix)
        let first = StringToSign.text(
            method: method,
            path: path.extracting(start..<path.count),
            parameters: parameters
        )
        if secret.verify(parameters.text.span.extracting(signature), of: first.span) { return }
        for text in alternatives(
            method: method,
            path: path,
            start: start,
            parameters: parameters
        )
        where secret.verify(parameters.text.span.extracting(signature), of: text.span) { return }
        throw mismatch(
            text: first,
            signature: parameters.text.span.extracting(signature).string()
        )
    }

    /// Verifies that the body of a request is the one that its head was signed for.
    ///
    /// - Parameters:
    ///   - body: The content as received.
    ///   - parameters: All parameters of the query, which were verified with the head.
    /// - Throws: 401 when `body_md5` is not the MD5 digest of the body, or is missing though there is a body.
    public static func verifyBody(
        _ body: Span<UInt8>,
        parameters: QueryParameters
    ) throws(APIError) {
        guard let value = parameters.value(of: "body_md5") else {
            guard body.isEmpty else { throw .unauthorized("Missing parameter: body_md5") }
            return
        }
        let given = parameters.text.span.extracting(value)
        // The Python library digests the empty body of a GET, too.
        if body.isEmpty, given.equals(emptyMD5) { return }
        guard Digest.isMD5(given, of: body) else { throw .unauthorized("Invalid body MD5") }
    }

    /// Signs a request.
    ///
    /// - Parameters:
    ///   - method: The request method, upper case.
    ///   - path: The path as it goes over the wire, without the prefix of a reverse proxy.
    ///   - parameters: The endpoint's own parameters, not encoded.
    ///   - body: The content; its digest is signed unless it is empty.
    ///   - key: The app's key.
    ///   - secret: The app's secret.
    ///   - timestamp: Seconds since 1970.
    /// - Returns: The whole query string, percent-encoded, without a `?`.
    public static func sign(
        method: String,
        path: String,
        parameters: [(name: String, value: String)] = [],
        body: Span<UInt8>,
        key: String,
        secret: AppSecret,
        timestamp: Int64
    ) -> String {
        var all = [
            (name: "auth_key", value: key), (name: "auth_timestamp", value: String(timestamp)),
            (name: "auth_version", value: "1.0"),
        ]
        if !body.isEmpty { all.append((name: "body_md5", value: Hex.encode(Digest.md5(body)))) }
        let query = (all + parameters)
            .map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
            .joined(separator: "&")
        let text = StringToSign.text(
            method: method,
            path: Array(path.utf8).span,
            parameters: QueryParameters(query)
        )
        return query + "&auth_signature=" + secret.sign(text.span)
    }

    // MARK: The checks of the head, in order

    private static func secret(
        of parameters: QueryParameters,
        owner: (Span<UInt8>) -> KeyOwner
    ) throws(APIError) -> AppSecret {
        guard let key = parameters.value(of: "auth_key") else {
            throw .unauthorized("Missing parameter: auth_key")
        }
        switch owner(parameters.text.span.extracting(key)) {
        case .app(let secret): return secret
        case .otherApp: throw .unauthorized("The auth_key is not one of the app in the path")
        case .nobody: throw .unauthorized("Unknown auth_key")
        }
    }

    private static func checkVersion(_ parameters: QueryParameters) throws(APIError) {
        guard let version = parameters.value(of: "auth_version") else {
            throw .unauthorized("Version required")
        }
        guard parameters.text.span.extracting(version).equals("1.0") else {
            throw .unauthorized("Version not supported")
        }
    }

    private static func checkTimestamp(
        _ parameters: QueryParameters,
        now: Int64
    ) throws(APIError) {
        guard let value = parameters.value(of: "auth_timestamp") else {
            throw .unauthorized("Timestamp required")
        }
        let text = parameters.text.span.extracting(value)
        guard let timestamp = integer(text) else {
            throw .unauthorized(
                "Invalid timestamp: auth_timestamp must be Unix time in seconds, "
                    + "not \(APIError.quote(text.string(), lengthMax: 32))"
            )
        }
        // The magnitude and not `abs`, which traps where the difference is the least of all numbers: it is the client
        // who chooses it.
        let (difference, isOverflow) = timestamp.subtractingReportingOverflow(now)
        guard !isOverflow, difference.magnitude < timestampWindow else {
            throw .unauthorized(
                "Timestamp expired: Given timestamp (\(ISO8601.text(unixTime: timestamp))) "
                    + "not within \(timestampWindow)s of server time "
                    + "(\(ISO8601.text(unixTime: now)))"
            )
        }
    }

    // MARK: The signed text

    /// Every other text that a library might have signed, given what this request holds.
    private static func alternatives(
        method: String,
        path: Span<UInt8>,
        start: Int,
        parameters: QueryParameters
    ) -> [[UInt8]] {
        var paths: [[UInt8]] = []
        for candidate in [path.extracting(start..<path.count).copy(), path.copy()] {
            for form in [candidate, PercentEncoding.decodeLeniently(candidate.span)]
            where !paths.contains(form) { paths.append(form) }
        }
        let readings =
            parameters.hasPlus ? [parameters, parameters.readingPlusAsSpace()] : [parameters]
        let forms =
            StringToSign.holdsArrays(parameters) ? StringToSign.ArrayForm.allCases : [.repeated]
        var texts: [[UInt8]] = []
        for path in paths {
            for reading in readings {
                for form in forms {
                    texts.append(
                        StringToSign.text(
                            method: method,
                            path: path.span,
                            parameters: reading,
                            arrays: form
                        )
                    )
                }
            }
        }
        return texts
    }

    /// Where the path that the backend sees begins: behind the prefix, if the path has it.
    private static func start(of path: Span<UInt8>, behind prefix: String) -> Int {
        let length = prefix.utf8.count
        guard length > 0, path.count > length, path.starts(with: prefix) else { return 0 }
        return path[length] == UInt8(ascii: "/") ? length : 0
    }

    private static func mismatch(text: [UInt8], signature: String) -> APIError {
        let signed = APIError.quote(String(decoding: text, as: UTF8.self), lengthMax: .max)
        return .unauthorized(
            "Invalid signature: you should have sent HmacSHA256Hex(\(signed), your_secret_key), "
                + "but you sent \(APIError.quote(signature))"
        )
    }

    /// Reads an integer of at most 64 bits, or returns `nil`.
    private static func integer(_ text: Span<UInt8>) -> Int64? {
        let isNegative = text.count > 1 && text[0] == UInt8(ascii: "-")
        guard text.count > 0, text.count <= 20 else { return nil }
        var number: Int64 = 0
        for index in (isNegative ? 1 : 0)..<text.count {
            guard text[index].isDigit else { return nil }
            let digit = Int64(text[index] - UInt8(ascii: "0"))
            let (tenfold, isTooLong) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = tenfold.subtractingReportingOverflow(digit)
            guard !isTooLong, !isTooLarge else { return nil }
            // Below zero, where there is one number more.
            number = sum
        }
        guard !isNegative else { return number }
        return number == .min ? nil : -number
    }
}
