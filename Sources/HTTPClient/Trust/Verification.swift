import Digests

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// An ``HTTPTrust`` with its files loaded.
package struct Verification: Sendable, Hashable {
    /// The accepted issuers.
    package enum Roots: Sendable, Hashable {
        /// The system's authorities.
        case system
        /// Any.
        case insecure
        /// These certificates in DER form.
        case certificates([[UInt8]])
    }

    /// The accepted issuers.
    package let roots: Roots
    /// SHA-256 digests of keys, one of which is required; empty for any key.
    package let pins: Set<[UInt8]>

    /// Loads the trusted certificates, blocking while it reads files; throws the fault of the file or the text.
    package init(reading trust: HTTPTrust) throws(TrustFault) {
        pins = trust.pins
        switch trust.roots {
        case .system: roots = .system
        case .insecure: roots = .insecure
        case .pem(let text):
            roots = .certificates(try CertificateText.read(text, from: "the PEM text to trust"))
        case .file(let path):
            roots = .certificates(try CertificateText.read(Self.contents(of: path), from: path))
        case .certificates(let certificates):
            guard !certificates.isEmpty else {
                throw TrustFault("the list of certificates to trust is empty: pass at least one")
            }
            for (index, certificate) in certificates.enumerated() {
                guard CertificateText.publicKeyInfo(of: certificate) != nil else {
                    throw TrustFault(
                        "certificate \(index + 1) of those to trust is not in DER form; for PEM use pem(_:)"
                    )
                }
            }
            roots = .certificates(certificates)
        }
    }

    /// The error for a server without any pinned key, with the digest to pin if the server is the right one.
    ///
    /// - Parameter keys: The digests of its keys, its own first.
    /// - Returns: The error.
    package static func fault(unpinned keys: [[UInt8]]) -> String {
        let own = keys.first.map { "sha256/" + Base64.encode($0) } ?? "unknown"
        return "the key of its certificate is not pinned, it is \(own)"
    }

    private static func contents(of path: String) throws(TrustFault) -> [UInt8] {
        // One byte more than the limit detects a longer file.
        var bytes = [UInt8](repeating: 0, count: CertificateText.lengthMax + 1)
        guard let file = fopen(path, "r") else { throw unreadable(path, errno) }
        defer { fclose(file) }
        let count = fread(&bytes, 1, bytes.count, file)
        // For example for a folder, which can be opened.
        guard ferror(file) == 0 else { throw unreadable(path, errno) }
        return Array(bytes[..<count])
    }

    private static func unreadable(_ path: String, _ code: Int32) -> TrustFault {
        let reason = String(cString: strerror(code))
        return TrustFault(
            "the file of trusted certificates \(path) cannot be read: \(reason)"
        )
    }
}
