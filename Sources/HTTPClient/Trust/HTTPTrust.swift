/// Whose certificates a client accepts, with TLS.
package struct HTTPTrust: Sendable, Hashable {
    /// Who may sign.
    package enum Roots: Sendable, Hashable {
        /// The system's authorities, for the host's name.
        case system
        /// Anybody: the connection is encrypted, but to whom is not known. For development alone, or with a pin.
        case insecure
        /// Those in this PEM or DER file, authorities or the server's own, for the host's name.
        case file(String)
        /// The same, given as the text of such a file.
        case pem([UInt8])
        /// The same, given as certificates in DER form.
        case certificates([[UInt8]])
    }

    /// Who may sign.
    package let roots: Roots
    /// SHA-256 digests of public keys (SubjectPublicKeyInfo) of which one has to be there; any will do if there are none.
    package let pins: Set<[UInt8]>

    /// Says whom to trust.
    ///
    /// - Parameters:
    ///   - roots: Who may sign.
    ///   - pins: SHA-256 digests of public keys of which one has to be there; none for any.
    package init(_ roots: Roots, pins: Set<[UInt8]> = []) {
        self.roots = roots
        self.pins = pins
    }

    /// Those that the system's authorities have signed, for the host's name.
    package static let system = HTTPTrust(.system)
}

/// What is wrong with what is to be trusted, and what to do about it.
package struct TrustFault: Error, Equatable, CustomStringConvertible {
    /// What is wrong.
    package let description: String

    init(_ description: String) { self.description = description }
}
