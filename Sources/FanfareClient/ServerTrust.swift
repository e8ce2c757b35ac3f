/// Whose certificates a client accepts from a broker.
public enum ServerTrust: Sendable, Hashable {
    /// Those that the system's authorities have signed, for the host's name.
    case system
    /// Those that an authority in this PEM file has signed, for the host's name.
    case authorities(file: String)
    /// The same, with the file's text in place of its path.
    case pem([UInt8])
    /// Any: the connection is encrypted, but to whom is not known. For development alone.
    case anyone
}
