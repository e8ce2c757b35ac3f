/// The reason for which a backend refuses a batch.
public enum TextRefusal: Error, Hashable, Sendable {
    /// The batch refers to unknown scalars: load the text and reapply the edits.
    case stale(reason: String)
    /// The batch is longer than the backend accepts: send it in parts.
    case tooLarge(reason: String)
    /// The batch is invalid: load the text and return the edits to the app.
    case invalid(reason: String)

    /// The reason.
    public var reason: String {
        switch self {
        case .stale(let reason), .tooLarge(let reason), .invalid(let reason): reason
        }
    }
}

extension TextRefusal: CustomStringConvertible {
    /// The reason and what to do about it.
    public var description: String {
        switch self {
        case .stale(let reason): "\(reason); load the text and reapply the edits"
        case .tooLarge(let reason): "\(reason); send the batch in parts"
        case .invalid(let reason): reason
        }
    }
}

extension TextRefusal {
    /// Creates the refusal for the status of an HTTP response; `nil` if the status is no refusal.
    ///
    /// 409 means a stale batch, 413 a batch that is too large, and the other statuses from 400 to 499 an invalid batch.
    /// The exceptions are 401 (first renew the credentials), 407, 408, 421, 425 and 429: they do not concern the batch.
    /// For these throw any other error, and the batch is sent again.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - reason: The backend's reason.
    public init?(status: Int, reason: String) {
        guard BackendFailure.isRefusal(status) else { return nil }
        switch status {
        case 409: self = .stale(reason: reason)
        case 413: self = .tooLarge(reason: reason)
        default: self = .invalid(reason: reason)
        }
    }
}
