/// Why webhooks cannot begin.
public enum WebhooksError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file of trusted certificates cannot be read.
    case badTrustFile(path: String, reason: String)
    /// Another broker, named as people know processes, uses the file at `path`.
    case fileInUse(path: String, holder: String)
    /// There is no thread, no descriptor or no memory to send from.
    case noTransport(reason: String)

    /// What is wrong, and what would be right.
    public var description: String {
        switch self {
        case .badTrustFile(let path, let reason):
            "\(path) is no readable file of certificates in PEM form: \(reason)"
        case .fileInUse(let path, let holder):
            "\(path) is in use by \(holder), and a file serves one broker. Stop that process, or set "
                + "webhooks.database to another file"
        case .noTransport(let reason): "webhooks cannot be sent: \(reason)"
        }
    }
}
