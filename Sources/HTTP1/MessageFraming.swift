import Primitives

/// The fields of a head that control the connection and the length of the content.
struct MessageFraming: Sendable {
    private(set) var contentLength: Int?
    private(set) var closes = false
    private(set) var keepsAlive = false
    private(set) var hasUpgradeOption = false
    /// The first Upgrade field.
    private(set) var upgrade: Range<Int>?
    private(set) var repeatsUpgrade = false
    private(set) var host: Range<Int>?
    private(set) var expectation: Range<Int>?
    /// Whether there are fields that servers look for in every request, and most requests do not have.
    private(set) var isForwarded = false
    private(set) var hasIdempotencyKey = false
    private var transferEncoding: Range<Int>?

    /// Whether the content is chunked.
    var isChunked: Bool { transferEncoding != nil }

    /// Whether content follows the head of a request.
    var hasContent: Bool { isChunked || (contentLength ?? 0) > 0 }

    /// Records a field if it is one of RFC 9112 §6 and §9, Host, Expect or Upgrade, or servers always look for it.
    mutating func record(_ line: FieldLine, of bytes: Span<UInt8>) throws(HTTPError) {
        let name = bytes.extracting(line.name)
        switch name.count {
        case 4 where name.equalsIgnoringCase("host"):
            guard host == nil else { throw .hostRepeated }
            host = line.value
        case 6 where name.equalsIgnoringCase("expect"):
            if let expectation { throw .expectationUnknown(bytes.text(expectation)) }
            expectation = line.value
        case 7 where name.equalsIgnoringCase("upgrade"):
            if upgrade == nil { upgrade = line.value } else { repeatsUpgrade = true }
        case 10 where name.equalsIgnoringCase("connection"):
            recordOptions(bytes, line.value)
        case 14 where name.equalsIgnoringCase("content-length"):
            guard contentLength == nil else { throw .contentLengthRepeated }
            contentLength = try Self.length(bytes, line.value)
        case 15 where name.equalsIgnoringCase("x-forwarded-for"): isForwarded = true
        case 15 where name.equalsIgnoringCase("idempotency-key"): hasIdempotencyKey = true
        case 17 where name.equalsIgnoringCase("x-idempotency-key"): hasIdempotencyKey = true
        case 17 where name.equalsIgnoringCase("transfer-encoding"):
            if let transferEncoding {
                throw .transferEncodingMalformed(
                    bytes.text(transferEncoding) + ", " + bytes.text(line.value)
                )
            }
            transferEncoding = line.value
        default: break
        }
    }

    /// Validates the fields of a whole head together, because recipients disagree about contradictory ones.
    func check(_ bytes: Span<UInt8>, minorVersion: Int) throws(HTTPError) {
        guard let transferEncoding else { return }
        guard minorVersion > 0 else { throw .transferEncodingInHTTP10 }
        guard contentLength == nil else { throw .contentLengthWithTransferEncoding }
        try checkCodings(bytes, transferEncoding)
    }

    /// Records the options of a Connection field (RFC 9110 §7.6.1).
    private mutating func recordOptions(_ bytes: Span<UInt8>, _ value: Range<Int>) {
        bytes.forEachListElement(in: value) { option in
            let option = bytes.extracting(option)
            switch option.count {
            case 5 where option.equalsIgnoringCase("close"): closes = true
            case 7 where option.equalsIgnoringCase("upgrade"): hasUpgradeOption = true
            case 10 where option.equalsIgnoringCase("keep-alive"): keepsAlive = true
            default: break
            }
        }
    }

    /// Parses `1*DIGIT`; no sign, no list, no white space inside (RFC 9110 §8.6).
    private static func length(_ bytes: Span<UInt8>, _ value: Range<Int>) throws(HTTPError) -> Int {
        var length = 0
        for index in value {
            guard bytes[index].isDigit else {
                throw .contentLengthMalformed(bytes.text(value))
            }
            // Already above any limit; stops here so that it cannot overflow.
            if length < 1 << 53 { length = length * 10 + Int(bytes[index] - 0x30) }
        }
        guard !value.isEmpty else { throw .contentLengthMalformed("") }
        return length
    }

    /// Accepts only `chunked` (RFC 9112 §6.1, §6.3 rule 4).
    private func checkCodings(_ bytes: Span<UInt8>, _ value: Range<Int>) throws(HTTPError) {
        var codings = 0
        var chunked = 0
        var endsInChunked = false
        bytes.forEachListElement(in: value) { coding in
            codings += 1
            endsInChunked = bytes.extracting(coding).equalsIgnoringCase("chunked")
            if endsInChunked { chunked += 1 }
        }
        guard endsInChunked, chunked == 1 else {
            throw .transferEncodingMalformed(bytes.text(value))
        }
        guard codings == 1 else { throw .transferCodingUnsupported(bytes.text(value)) }
    }
}

extension Span<UInt8> {
    /// Calls `body` with each non-empty element of a comma-separated list (RFC 9110 §5.6.1).
    func forEachListElement(in value: Range<Int>, _ body: (Range<Int>) -> Void) {
        var start = value.lowerBound
        while start < value.upperBound {
            var end = start
            while end < value.upperBound, self[end] != UInt8(ascii: ",") { end += 1 }
            var element = start..<end
            while let first = element.first, Octet.isBlank(self[first]) {
                element = first + 1..<element.upperBound
            }
            while let last = element.last, Octet.isBlank(self[last]) {
                element = element.lowerBound..<last
            }
            if !element.isEmpty { body(element) }
            start = end + 1
        }
    }

    /// Returns whether a comma-separated list contains `element`, case-insensitive; it is given in lower case.
    func hasListElement(_ element: StaticString, in value: Range<Int>) -> Bool {
        var isFound = false
        forEachListElement(in: value) {
            if extracting($0).equalsIgnoringCase(element) { isFound = true }
        }
        return isFound
    }
}
