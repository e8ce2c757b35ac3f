/// The server certificates that a client accepts.
package struct HTTPTrust: Sendable, Hashable {
    /// The accepted issuers.
    package enum Roots: Sendable, Hashable {
        /// The system's authorities, with a check of the host name.
        case system
        /// Any: the connection is encrypted, but the server is not authenticated.
        ///
        /// For development only, or with a pin.
        case insecure
        /// The certificates in this PEM or DER file, of authorities or of the server, with a check of the host name.
        case file(String)
        /// The content of such a file.
        case pem([UInt8])
        /// The certificates in DER form.
        case certificates([[UInt8]])
    }

    /// The accepted issuers.
    package let roots: Roots
    /// SHA-256 digests of public keys (SubjectPublicKeyInfo), one of which is required; empty for any key.
    package let pins: Set<[UInt8]>

    /// Creates a trust.
    ///
    /// - Parameters:
    ///   - roots: The accepted issuers.
    ///   - pins: SHA-256 digests of public keys, one of which is required; empty for any key.
    package init(_ roots: Roots, pins: Set<[UInt8]> = []) {
        self.roots = roots
        self.pins = pins
    }

    /// The system's authorities, with a check of the host name.
    package static let system = HTTPTrust(.system)
}

/// A fault of trusted certificates, with advice.
package struct TrustFault: Error, Equatable, CustomStringConvertible {
    /// The fault and the advice.
    package let description: String

    init(_ description: String) { self.description = description }
}
