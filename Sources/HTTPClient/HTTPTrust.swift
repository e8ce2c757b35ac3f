/// Whose certificates a client accepts, with `https`.
package enum HTTPTrust: Sendable, Hashable {
    /// Those that the system's authorities have signed, for the host's name.
    case system
    /// Those in this PEM file, authorities or the server's own, for the host's name.
    case file(String)
    /// The same, given as the text of such a file.
    case pem([UInt8])
    /// The same, given as certificates in DER form.
    case certificates([[UInt8]])
    /// Any: the connection is encrypted, but to whom is not known. For development alone.
    case insecure
}
