import COpenSSL

/// The names and the validity of a server's certificate.
public struct CertificateDescription: Sendable, Equatable {
    /// The host names and IP addresses that it is for (RFC 5280 §4.2.1.6); empty for none.
    public var names: [String]
    /// The seconds until it is valid; negative for a certificate that is valid already.
    public var secondsUntilStart: Int
    /// The seconds until it expires; negative for a certificate that has expired.
    public var secondsUntilEnd: Int

    /// Parses the first certificate of a text.
    ///
    /// - Parameter pem: A certificate in PEM form, followed by those of its issuers.
    /// - Throws: `noCertificate`, or a call of OpenSSL that failed.
    public init(pem: [UInt8]) throws(TLSError) {
        let chain = try CertificateChain(pem: pem)
        let certificate = chain.certificates[0]
        names = Self.names(of: certificate)
        secondsUntilStart = try Self.seconds(until: X509_get0_notBefore(certificate))
        secondsUntilEnd = try Self.seconds(until: X509_get0_notAfter(certificate))
        // The chain owns the certificate.
        withExtendedLifetime(chain) {}
    }

    private static func seconds(until time: UnsafePointer<ASN1_TIME>?) throws(TLSError) -> Int {
        var (days, seconds) = (Int32(0), Int32(0))
        // Without a first time, from now on.
        try TLSError.check(ASN1_TIME_diff(&days, &seconds, nil, time), "ASN1_TIME_diff")
        return Int(days) * 86_400 + Int(seconds)
    }

    private static func names(of certificate: OpaquePointer) -> [String] {
        guard let list = X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) else {
            return []
        }
        let stack = OpaquePointer(list)
        defer { GENERAL_NAMES_free(stack) }
        var names: [String] = []
        for index in 0..<OPENSSL_sk_num(stack) {
            guard let item = OPENSSL_sk_value(stack, index) else { continue }
            let name = item.assumingMemoryBound(to: GENERAL_NAME.self).pointee
            switch name.type {
            case GEN_DNS: names.append(String(decoding: bytes(of: name.d.dNSName), as: UTF8.self))
            case GEN_IPADD:
                if let ip = text(ofAddress: bytes(of: name.d.iPAddress)) { names.append(ip) }
            default: break
            }
        }
        return names
    }

    private static func bytes(of text: UnsafeMutablePointer<ASN1_STRING>?) -> [UInt8] {
        guard let text, let start = ASN1_STRING_get0_data(text) else { return [] }
        return Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(text))))
    }

    /// The text of 4 or 16 bytes of an address; `nil` for others.
    private static func text(ofAddress bytes: [UInt8]) -> String? {
        if bytes.count == 4 { return bytes.map { "\($0)" }.joined(separator: ".") }
        guard bytes.count == 16 else { return nil }
        let groups = stride(from: 0, to: 16, by: 2).map {
            String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16)
        }
        return SocketAddress(ip: groups.joined(separator: ":"), port: 0)?.ip
    }
}
