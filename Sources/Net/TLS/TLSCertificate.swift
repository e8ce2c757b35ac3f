import COpenSSL
import Glibc

/// The paths of a server's certificate and key.
public struct CertificateFiles: Hashable, Sendable {
    /// The path of a PEM file with the certificate, followed by those of its issuers.
    public var certificate: String
    /// The path of the private key in PEM form, without a passphrase.
    public var key: String

    /// Makes a pair of paths; reads nothing yet.
    public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// A server's certificate with its chain and its key, in PEM form (RFC 7468).
public struct TLSCertificate: Hashable, Sendable {
    /// The certificate, followed by those of its issuers.
    public var certificatePEM: [UInt8]
    /// The private key, without a passphrase.
    public var keyPEM: [UInt8]

    /// Makes a certificate of PEM bytes, which are validated when a ``TLSContext`` is made.
    public init(certificatePEM: [UInt8], keyPEM: [UInt8]) {
        self.certificatePEM = certificatePEM
        self.keyPEM = keyPEM
    }

    /// Reads both files, blocking for as long as the disk takes; throws `unreadable` with the path.
    public init(reading files: CertificateFiles) throws(TLSError) {
        certificatePEM = try Self.read(files.certificate)
        keyPEM = try Self.read(files.key)
    }

    private static func read(_ path: String) throws(TLSError) -> [UInt8] {
        do {
            return try FileBytes.read(path)
        } catch {
            throw .unreadable(path: path, error)
        }
    }
}

/// The server certificates that a client accepts.
///
/// The SDKs have enums with the same cases, because this module exists on Linux only.
public enum TLSTrust: Hashable, Sendable {
    /// Certificates for the host that are signed by the system's authorities.
    case system
    /// Certificates for the host that are in this PEM file, or signed by one of its authorities.
    case file(String)
    /// The same, with the contents of such a file.
    case pem([UInt8])
    /// The same, with certificates in DER form.
    case certificates([[UInt8]])
    /// Certificates for the host that are signed by the system's authorities or by one of these, in DER form.
    case systemAnd([[UInt8]])
    /// Any certificate: the connection is encrypted but not authenticated. For development only.
    case insecure
}

/// Parsed certificates, freed with the value.
struct CertificateChain: ~Copyable {
    private(set) var certificates: [OpaquePointer] = []

    /// - Throws: `noCertificate` if there is none, or an invalid one.
    init(pem: [UInt8]) throws(TLSError) {
        ERR_clear_error()
        let bio = try TLSError.check(BIO_new_mem_buf(pem, Int32(pem.count)), "BIO_new_mem_buf")
        defer { BIO_free(bio) }
        // OpenSSL reports the end of the text as the error "no start line".
        while let next = PEM_read_bio_X509(bio, nil, refusePassphrase, nil) {
            certificates.append(next)
        }
        let reason = ERR_peek_last_error()
        let isAtEnd = (reason & 0x7FFFFF) == UInt(PEM_R_NO_START_LINE)
        guard !certificates.isEmpty, isAtEnd else {
            throw .noCertificate(reason: TLSError.takeReason())
        }
        ERR_clear_error()
    }

    /// - Throws: `noCertificate` if there is none, or an invalid one.
    init(der: [[UInt8]]) throws(TLSError) {
        ERR_clear_error()
        for bytes in der {
            let certificate = bytes.withUnsafeBufferPointer { bytes in
                var position = bytes.baseAddress
                return d2i_X509(nil, &position, bytes.count)
            }
            guard let certificate else { throw .noCertificate(reason: TLSError.takeReason()) }
            certificates.append(certificate)
        }
        guard !certificates.isEmpty else { throw .noCertificate(reason: "the list is empty") }
    }

    deinit { for certificate in certificates { X509_free(certificate) } }
}

/// The passphrase callback, which always fails; without one OpenSSL would prompt on the terminal.
let refusePassphrase:
    @convention(c) (
        UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?
    ) -> Int32 = { _, _, _, _ in -1 }
