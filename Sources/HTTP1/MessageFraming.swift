/// What the fields of a head say about its connection and about the length of its content.
struct MessageFraming: Sendable {
    var contentLength: Int?
    var isChunked = false
    var closes = false
    var keepsAlive = false
    var hasUpgradeOption = false
    var hasUpgrade = false
    var host: Range<Int>?
    var expectation: Range<Int>?
    private var transferEncoding: Range<Int>?

    /// Judges the fields of RFC 9112 §6 and §9 together, since that is where readers disagree.
    init(_ bytes: Span<UInt8>, _ lines: [FieldLine], minorVersion: Int) throws(HTTPError) {
        for line in lines {
            let name = bytes.extracting(line.name)
            switch name.count {
            case 4 where name.equalsIgnoringCase("host"):
                guard host == nil else { throw .hostRepeated }
                host = line.value
            case 6 where name.equalsIgnoringCase("expect"):
                if let expectation { throw .expectationUnknown(bytes.text(expectation)) }
                expectation = line.value
            case 7 where name.equalsIgnoringCase("upgrade"):
                hasUpgrade = true
            case 10 where name.equalsIgnoringCase("connection"):
                readOptions(bytes, line.value)
            case 14 where name.equalsIgnoringCase("content-length"):
                guard contentLength == nil else { throw .contentLengthRepeated }
                contentLength = try Self.length(bytes, line.value)
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
        guard let transferEncoding else { return }
        guard minorVersion > 0 else { throw .transferEncodingInHTTP10 }
        guard contentLength == nil else { throw .contentLengthWithTransferEncoding }
        try checkCodings(bytes, transferEncoding)
        isChunked = true
    }

    /// Reads the options of a Connection field (RFC 9110 §7.6.1).
    private mutating func readOptions(_ bytes: Span<UInt8>, _ value: Range<Int>) {
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

    /// Reads `1*DIGIT`; no sign, no list, no white space inside (RFC 9110 §8.6).
    private static func length(_ bytes: Span<UInt8>, _ value: Range<Int>) throws(HTTPError) -> Int {
        var length = 0
        for index in value {
            guard Octet.isDigit(bytes[index]) else {
                throw .contentLengthMalformed(bytes.text(value))
            }
            // Past any limit already; kept there so that it cannot overflow.
            if length < 1 << 53 { length = length * 10 + Int(bytes[index] - 0x30) }
        }
        guard !value.isEmpty else { throw .contentLengthMalformed("") }
        return length
    }

    /// Takes `chunked` alone (RFC 9112 §6.1, §6.3 rule 4).
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
    /// Calls `body` with each element of a comma-separated list (RFC 9110 §5.6.1), empty ones left out.
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
}
