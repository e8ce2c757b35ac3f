import COpenSSL
import Glibc

/// A self-signed certificate for development and tests.
public enum DevelopmentCertificate {
    /// Makes a key (ECDSA, P-256) and a certificate signed with it.
    ///
    /// A client that trusts the certificate accepts the server for each of the hosts.
    ///
    /// ```swift
    /// let (certificate, key) = try DevelopmentCertificate.make(hosts: ["localhost", "127.0.0.1"])
    /// ```
    ///
    /// - Parameters:
    ///   - hosts: At least one name (a leading `*.` stands for one label) or IP address.
    ///   - days: The number of days that it is valid; it begins an hour ago, for clocks that differ.
    /// - Returns: The certificate and its key (PKCS #8) in PEM form.
    /// - Throws: `badHost`, or a call of OpenSSL that failed.
    public static func make(
        hosts: [String],
        days: Int = 365
    ) throws(TLSError) -> (certificatePEM: [UInt8], keyPEM: [UInt8]) {
        guard let first = hosts.first else { throw .badHost("") }
        let names = try alternativeNames(hosts)
        ERR_clear_error()
        let key = try TLSError.check(shim_EVP_EC_gen("P-256"), "EVP_PKEY_Q_keygen")
        defer { EVP_PKEY_free(key) }
        let certificate = try TLSError.check(X509_new(), "X509_new")
        defer { X509_free(certificate) }
        // Version 3, which counts from zero (RFC 5280 §4.1.2.1).
        try TLSError.check(X509_set_version(certificate, 2), "X509_set_version")
        let serial = UInt64.random(in: 1...UInt64(Int64.max))
        try TLSError.check(
            ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial),
            "ASN1_INTEGER_set_uint64"
        )
        X509_gmtime_adj(X509_getm_notBefore(certificate), -3600)
        X509_time_adj_ex(X509_getm_notAfter(certificate), Int32(clamping: days), 0, nil)
        try TLSError.check(X509_set_pubkey(certificate, key), "X509_set_pubkey")
        // Its own issuer. A common name holds 64 characters (RFC 5280 appendix A.1).
        let subject = X509_get_subject_name(certificate)
        try TLSError.check(
            X509_NAME_add_entry_by_txt(
                subject,
                "CN",
                MBSTRING_UTF8,
                Array(first.utf8.prefix(64)),
                Int32(min(first.utf8.count, 64)),
                -1,
                0
            ),
            "X509_NAME_add_entry_by_txt"
        )
        try TLSError.check(X509_set_issuer_name(certificate, subject), "X509_set_issuer_name")
        // No key usage: BoringSSL accepts a certificate as self-signed only if its key may sign certificates, and
        // strict verifiers allow that for authorities only. Without the extension both accept it.
        for (id, value) in [
            (NID_subject_alt_name, names), (NID_basic_constraints, "critical,CA:FALSE"),
            (NID_ext_key_usage, "serverAuth"), (NID_subject_key_identifier, "hash"),
        ] {
            try add(id, value, to: certificate)
        }
        guard X509_sign(certificate, key, EVP_sha256()) > 0 else {
            throw .library(call: "X509_sign", reason: TLSError.takeReason())
        }
        return (
            try pem("PEM_write_bio_X509") { PEM_write_bio_X509($0, certificate) },
            try pem("PEM_write_bio_PKCS8PrivateKey") {
                PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil)
            }
        )
    }

    /// Returns OpenSSL's text for the hosts.
    ///
    /// Hosts are validated, because a comma would begin another entry.
    private static func alternativeNames(_ hosts: [String]) throws(TLSError) -> String {
        var entries: [String] = []
        for host in hosts {
            if let ip = SocketAddress(ip: host, port: 0)?.ip {
                entries.append("IP:\(ip)")
            } else if isHostName(host) {
                entries.append("DNS:\(host)")
            } else {
                throw .badHost(host)
            }
        }
        return entries.joined(separator: ",")
    }

    /// Whether `host` consists of letters, digits, `-`, `_` and `.` after an optional `*.` (RFC 5280 §4.2.1.6, RFC 6125
    /// §6.4.3).
    private static func isHostName(_ host: String) -> Bool {
        let name = host.hasPrefix("*.") ? host.dropFirst(2) : host[...]
        guard !name.isEmpty, name.utf8.count <= 253 else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
    }

    private static func add(
        _ id: Int32,
        _ value: String,
        to certificate: OpaquePointer
    ) throws(TLSError) {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, certificate, certificate, nil, nil, 0)
        let made = X509V3_EXT_conf_nid(nil, &context, id, value)
        let part = try TLSError.check(made, "X509V3_EXT_conf_nid")
        defer { X509_EXTENSION_free(part) }
        try TLSError.check(X509_add_ext(certificate, part, -1), "X509_add_ext")
    }

    private static func pem(
        _ call: String,
        _ write: (OpaquePointer) -> Int32
    ) throws(TLSError) -> [UInt8] {
        let bio = try TLSError.check(BIO_new(BIO_s_mem()), "BIO_new")
        defer { BIO_free(bio) }
        try TLSError.check(write(bio), call)
        var data: UnsafeMutablePointer<CChar>?
        let count = shim_BIO_get_mem_data(bio, &data)
        return UnsafeBufferPointer(start: data, count: count).map { UInt8(bitPattern: $0) }
    }
}
