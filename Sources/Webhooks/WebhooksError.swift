/// The reason why webhooks cannot start.
public enum WebhooksError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file of trusted certificates cannot be read.
    case badTrustFile(path: String, reason: String)
    /// Another broker's process, `holder`, uses the file at `path`.
    case fileInUse(path: String, holder: String)
    /// No thread, descriptor or memory is left.
    case noTransport(reason: String)

    /// The fault, and what is expected.
    public var description: String {
        switch self {
        case .badTrustFile(let path, let reason):
            "\(path) is not a readable file of certificates in PEM form: \(reason)"
        case .fileInUse(let path, let holder):
            "\(path) is in use by \(holder); each broker needs its own file. Stop that process, or set "
                + "webhooks.database to another file"
        case .noTransport(let reason): "webhooks cannot be sent: \(reason)"
        }
    }
}

/// The reason why a webhook file could not be used.
public enum WebhookQueueError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is no file at `path`.
    case missing(path: String)
    /// SQLite's error.
    case failed(String)

    /// The error, as a sentence without its full stop.
    public var description: String {
        switch self {
        case .missing(let path): "there is no file \(path): no broker has kept webhooks there"
        case .failed(let reason): reason
        }
    }
}
