import Primitives
import Digests

/// Parses certificates in PEM or DER form, with precise errors.
package enum CertificateText {
    /// The maximum length: more than the bundle of a system's authorities.
    package static let lengthMax = 4 << 20

    /// Parses a text in PEM form (RFC 7468), or a single certificate in DER form.
    ///
    /// - Parameters:
    ///   - bytes: The whole text.
    ///   - source: The name of the text, for errors.
    /// - Returns: At least one certificate in DER form; its content is not validated.
    /// - Throws: The fault, with the number and the line of the certificate.
    package static func read(_ bytes: [UInt8], from source: String) throws(TrustFault) -> [[UInt8]]
    {
        guard bytes.count <= lengthMax else {
            throw TrustFault("\(source) has \(bytes.count) bytes; at most \(lengthMax) are read")
        }
        if bytes.first == sequenceTag {
            try check(bytes, source)
            return [bytes]
        }
        var certificates: [[UInt8]] = []
        var block: (label: String, line: Int, digits: [UInt8])?
        var others: [String] = []
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            if let label = label(of: line, "BEGIN") {
                if let block { throw unended(block, source) }
                block = (label, index + 1, [])
            } else if let open = block, label(of: line, "END") == open.label {
                block = nil
                guard open.label == certificateLabel else {
                    others.append(open.label)
                    continue
                }
                certificates.append(
                    try decode(open.digits, certificates.count + 1, open.line, source)
                )
            } else {
                block?.digits += line.filter { $0 > 0x20 }
            }
        }
        if let block { throw unended(block, source) }
        guard !certificates.isEmpty else { throw none(source, others) }
        return certificates
    }

    private static let certificateLabel = "CERTIFICATE"

    /// Returns `X` of `-----BEGIN X-----`; ignores trailing white space.
    private static func label(of line: ArraySlice<UInt8>, _ verb: String) -> String? {
        guard line.first == UInt8(ascii: "-") else { return nil }
        var text = String(decoding: line, as: UTF8.self)
        while text.last?.isWhitespace == true { text.removeLast() }
        let (prefix, suffix) = ("-----\(verb) ", "-----")
        guard text.hasPrefix(prefix), text.hasSuffix(suffix), text.count > prefix.count + 5 else {
            return nil
        }
        return String(text.dropFirst(prefix.count).dropLast(suffix.count))
    }

    private static func decode(
        _ digits: [UInt8],
        _ number: Int,
        _ line: Int,
        _ source: String
    ) throws(TrustFault) -> [UInt8] {
        let name = "certificate \(number) in \(source), from line \(line) on,"
        guard let der = Base64.decode(digits.span), !der.isEmpty else {
            throw TrustFault("\(name) is not base64: it is damaged")
        }
        try check(der, name)
        return der
    }

    private static func unended(
        _ block: (label: String, line: Int, digits: [UInt8]),
        _ source: String
    ) -> TrustFault {
        TrustFault(
            "a \(block.label) begins in line \(block.line) of \(source) and does not end: the text is incomplete"
        )
    }

    private static func none(_ source: String, _ others: [String]) -> TrustFault {
        guard let other = others.first else {
            return TrustFault(
                "\(source) holds no certificate: it has no line -----BEGIN CERTIFICATE-----"
            )
        }
        let advice =
            other.hasSuffix("PRIVATE KEY")
            ? "the private key stays with the broker; pass its certificate"
            : "only blocks of -----BEGIN CERTIFICATE----- are read"
        return TrustFault("\(source) holds a \(other) and no certificate: \(advice)")
    }

    // MARK: DER

    private static let sequenceTag: UInt8 = 0x30

    /// Checks that a certificate is one sequence without trailing bytes.
    private static func check(_ der: [UInt8], _ name: String) throws(TrustFault) {
        var rest = der[...]
        guard let element = DERElement(from: &rest), element.tag == sequenceTag, rest.isEmpty else {
            throw TrustFault("\(name) is not a certificate, or is incomplete")
        }
    }

    /// The SubjectPublicKeyInfo of a certificate in DER form (RFC 5280 §4.1), as encoded there; `nil` if it is not a
    /// certificate.
    package static func publicKeyInfo(of certificate: [UInt8]) -> [UInt8]? {
        var outer = certificate[...]
        guard let whole = DERElement(from: &outer), whole.tag == sequenceTag else { return nil }
        var inner = whole.content
        guard let signed = DERElement(from: &inner), signed.tag == sequenceTag else { return nil }
        var fields = signed.content
        // The version is omitted if it is the first.
        if fields.first == 0xA0 { _ = DERElement(from: &fields) }
        // Skips serial number, signature, issuer, validity and subject.
        for tag: UInt8 in [0x02, sequenceTag, sequenceTag, sequenceTag, sequenceTag] {
            guard DERElement(from: &fields)?.tag == tag else { return nil }
        }
        guard let key = DERElement(from: &fields), key.tag == sequenceTag else { return nil }
        return Array(key.bytes)
    }
}

/// An element of DER (X.690 §8.1): tag, length and content.
private struct DERElement {
    let tag: UInt8
    let content: ArraySlice<UInt8>
    /// The encoded element, including tag and length.
    let bytes: ArraySlice<UInt8>

    /// Removes the first element of `rest`; `nil` if it is incomplete.
    init?(from rest: inout ArraySlice<UInt8>) {
        guard rest.count >= 2 else { return nil }
        let start = rest.startIndex
        tag = rest[start]
        var position = start + 2
        var length = Int(rest[start + 1])
        if length >= 0x80 {
            // More than four bytes of length would exceed any certificate.
            let count = length & 0x7F
            guard 1...4 ~= count, rest.count >= 2 + count else { return nil }
            length = rest[position..<position + count].reduce(0) { $0 << 8 | Int($1) }
            position += count
        }
        guard rest.endIndex - position >= length else { return nil }
        content = rest[position..<position + length]
        bytes = rest[start..<position + length]
        rest = rest[(position + length)...]
    }
}
