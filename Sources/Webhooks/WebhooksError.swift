/// Why webhooks cannot begin.
public enum WebhooksError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file of trusted certificates cannot be read.
    case badTrustFile(path: String, reason: String)

    /// What is wrong, and what would be right.
    public var description: String {
        switch self {
        case .badTrustFile(let path, let reason):
            "\(path) is no readable file of certificates in PEM form: \(reason)"
        }
    }
}
