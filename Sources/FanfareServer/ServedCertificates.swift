import Digests
import Net

/// The certificates that a TLS listener presents, as they were in their files when they were read.
struct ServedCertificates: Sendable {
    let context: TLSContext
    /// What the files held, to see whether they hold something else now.
    private let digest: [UInt8]

    /// Reads the files, blocking; `nil` when the configuration names none.
    ///
    /// - Parameter configuration: Names the files.
    /// - Throws: Which file is wrong, and why.
    init?(_ configuration: Configuration) throws(TLSError) {
        guard !configuration.certificates.isEmpty else { return nil }
        var certificates: [TLSCertificate] = []
        var bytes: [UInt8] = []
        for files in configuration.certificates {
            let certificate = try TLSCertificate(reading: files)
            certificates.append(certificate)
            // PEM has no zero bytes, so that these tell one file from the next.
            bytes += certificate.certificatePEM + [0] + certificate.keyPEM + [0]
        }
        digest = Digest.sha256(bytes.span)
        context = try TLSContext.server(certificates)
    }
}

extension ServedCertificates: Equatable {
    /// Whether both come from files that held the same; then the older ones stay, and sessions are resumed as before.
    static func == (one: Self, other: Self) -> Bool { one.digest == other.digest }
}
