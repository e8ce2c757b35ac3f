/// The reason why a backend refuses a batch.
public enum TextRefusal: Error, Hashable, Sendable {
    /// The batch refers to unknown scalars: load the text and reapply the edits.
    case stale(reason: String)
    /// The batch is longer than the backend accepts: send it in parts.
    case tooLarge(reason: String)
    /// The batch is invalid: load the text and hand the edits back to the app.
    case invalid(reason: String)

    /// The reason.
    public var reason: String {
        switch self {
        case .stale(let reason), .tooLarge(let reason), .invalid(let reason): reason
        }
    }
}

extension TextRefusal: CustomStringConvertible {
    /// The reason and its remedy.
    public var description: String {
        switch self {
        case .stale(let reason): "\(reason); load the text and reapply the edits"
        case .tooLarge(let reason): "\(reason); send the batch in parts"
        case .invalid(let reason): reason
        }
    }
}

extension TextRefusal {
    /// Creates the refusal that the status of an HTTP response means.
    ///
    /// 409 means a stale batch, 413 one that is too large, and the other statuses from 400 to 499 an invalid one. A
    /// status that does not concern the batch is no refusal: throw any other error, and the batch is sent again. These
    /// are 401 (renew the credentials first), 407, 408, 421, 425 and 429.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - reason: The backend's reason.
    public init?(status: Int, reason: String) {
        switch status {
        case 409: self = .stale(reason: reason)
        case 400..<500: self = .invalid(reason: reason)
        default: return nil
        }
    }
}
