import Digests

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What an ``HTTPTrust`` comes to, once its files are read.
package struct Verification: Sendable, Hashable {
    /// Who may sign.
    package enum Roots: Sendable, Hashable {
        /// The system's authorities.
        case system
        /// Anybody.
        case insecure
        /// Those of these certificates, which are in DER form.
        case certificates([[UInt8]])
    }

    /// Who may sign.
    package let roots: Roots
    /// SHA-256 digests of keys of which one has to be there; any will do if there are none.
    package let pins: Set<[UInt8]>

    /// Reads what is trusted; blocks for as long as a disk takes.
    ///
    /// - Parameter trust: Whom to trust.
    /// - Throws: What is wrong with the file or the text.
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
                throw TrustFault("the list of certificates to trust is empty: give at least one")
            }
            for (index, certificate) in certificates.enumerated() {
                guard CertificateText.publicKeyInfo(of: certificate) != nil else {
                    throw TrustFault(
                        "number \(index + 1) of the certificates to trust is none in DER form; for PEM there is pem(_:)"
                    )
                }
            }
            roots = .certificates(certificates)
        }
    }

    /// Why a server is not trusted that has none of the pinned keys.
    ///
    /// - Parameter keys: The digests of those that it has, its own first.
    /// - Returns: The reason, with the key to pin if the server is the right one.
    package static func fault(unpinned keys: [[UInt8]]) -> String {
        let own = keys.first.map { "sha256/" + Base64.encode($0) } ?? "unknown"
        return "the key of its certificate is not pinned, it is \(own)"
    }

    private static func contents(of path: String) throws(TrustFault) -> [UInt8] {
        // One byte more than is accepted tells that there are too many.
        var bytes = [UInt8](repeating: 0, count: CertificateText.lengthMax + 1)
        guard let file = fopen(path, "r") else { throw unreadable(path, errno) }
        defer { fclose(file) }
        let count = fread(&bytes, 1, bytes.count, file)
        // Such as of a folder, which can be opened.
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
