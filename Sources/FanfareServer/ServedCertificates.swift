import Digests
import Net

/// The certificates of a TLS listener, as they were in their files when they were read.
struct ServedCertificates: Sendable {
    let context: TLSContext
    /// The hash of the files, to detect changes.
    private let digest: [UInt8]

    /// Reads the files, blocking; `nil` when the configuration has none.
    ///
    /// - Parameter configuration: The configuration with the paths.
    /// - Throws: The file that cannot be used, and why.
    init?(_ configuration: Configuration) throws(TLSError) {
        guard !configuration.certificates.isEmpty else { return nil }
        var certificates: [TLSCertificate] = []
        var bytes: [UInt8] = []
        for files in configuration.certificates {
            let certificate = try TLSCertificate(reading: files)
            certificates.append(certificate)
            // PEM has no zero bytes, so a zero separates the files.
            bytes += certificate.certificatePEM + [0] + certificate.keyPEM + [0]
        }
        digest = Digest.sha256(bytes.span)
        context = try TLSContext.server(certificates)
    }
}

extension ServedCertificates: Equatable {
    /// Whether the files had the same content; then the old context is kept, and TLS sessions can be resumed.
    static func == (one: Self, other: Self) -> Bool { one.digest == other.digest }
}
