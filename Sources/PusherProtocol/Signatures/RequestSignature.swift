import Digests
import Primitives

/// The owner of the key in a request.
public enum KeyOwner: Sendable {
    /// The app in the path, with its secret for this key.
    case app(AppSecret)
    /// An app other than the one in the path.
    case otherApp
    /// No app.
    case unknown
}

/// The signature on every request to the HTTP API.
public enum RequestSignature {
    /// A timestamp must differ from the server's clock by less than this number of seconds.
    public static let timestampWindow: Int64 = 600

    private static let emptyMD5: StaticString = "d41d8cd98f00b204e9800998ecf8427e"

    /// Verifies a whole request: ``verifyHead(method:path:pathPrefix:parameters:now:owner:)``, then
    /// ``verifyBody(_:parameters:)``.
    ///
    /// - Parameters:
    ///   - method: The request method, upper case.
    ///   - path: The path as received, up to the `?`.
    ///   - pathPrefix: The path that a reverse proxy adds before `/apps`, such as `/push`; empty for none.
    ///   - parameters: All parameters of the query, including the signature.
    ///   - body: The content as received.
    ///   - now: Seconds since 1970.
    ///   - owner: Returns the owner of an app key; the bytes are valid during the call.
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

    /// Verifies the signature of a request's head, before its body is read.
    ///
    /// The signature covers method, path and query. The query contains the body's digest, `body_md5`, so the signature
    /// does not depend on the body itself.
    ///
    /// Official libraries differ in details of the signed text. The variants are tried in turn, the usual form first.
    /// They are: the path without and with the prefix, as received and percent-decoded; `+` as itself and as a space;
    /// and arrays in each ``StringToSign/ArrayForm``. Every comparison takes constant time.
    ///
    /// - Parameters:
    ///   - method: The request method, upper case.
    ///   - path: The path as received, up to the `?`.
    ///   - pathPrefix: The path that a reverse proxy adds before `/apps`, such as `/push`; empty for none.
    ///   - parameters: All parameters of the query, including the signature.
    ///   - now: Seconds since 1970.
    ///   - owner: Returns the owner of an app key; the bytes are valid during the call.
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
        let start = start(of: path, after: pathPrefix)
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

    /// Verifies that the body of a request matches the digest in its signed head.
    ///
    /// - Parameters:
    ///   - body: The content as received.
    ///   - parameters: All parameters of the query, verified with the head.
    /// - Throws: 401 when `body_md5` is not the MD5 digest of the body, or is missing for a body that is not empty.
    public static func verifyBody(
        _ body: Span<UInt8>,
        parameters: QueryParameters
    ) throws(APIError) {
        guard let value = parameters.value(of: "body_md5") else {
            guard body.isEmpty else { throw .unauthorized("Missing parameter: body_md5") }
            return
        }
        let given = parameters.text.span.extracting(value)
        // The Python library also sends the digest of an empty body.
        if body.isEmpty, given.equals(emptyMD5) { return }
        guard Digest.isMD5(given, of: body) else { throw .unauthorized("Invalid body MD5") }
    }

    /// Signs a request.
    ///
    /// - Parameters:
    ///   - method: The request method, upper case.
    ///   - path: The path in wire format, without the prefix of a reverse proxy.
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
        case .unknown: throw .unauthorized("Unknown auth_key")
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
        // The magnitude, because `abs` traps for `Int64.min` and the client chooses the timestamp.
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

    /// Returns the other texts that a library could have signed for this request.
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
            StringToSign.containsArrays(parameters) ? StringToSign.ArrayForm.allCases : [.repeated]
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

    /// Returns the offset of the path without the prefix, if it has the prefix.
    private static func start(of path: Span<UInt8>, after prefix: String) -> Int {
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

    /// Parses an integer of at most 64 bits, or returns `nil`.
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
            // Accumulated as a negative number, so that `Int64.min` fits.
            number = sum
        }
        guard !isNegative else { return number }
        return number == .min ? nil : -number
    }
}
