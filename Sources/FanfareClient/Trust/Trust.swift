extension ClientOptions {
    /// Whose certificates a client accepts from a broker.
    public enum Trust: Sendable, Hashable {
        /// Those that the system's authorities have signed, for the host's name.
        case system
        /// Those in this PEM file, authorities or the broker's own, for the host's name.
        case file(String)
        /// The same, given as the text of such a file.
        case pem([UInt8])
        /// Any: the connection is encrypted, but to whom is not known. For development alone.
        case insecure
    }
}
