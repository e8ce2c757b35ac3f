public import Net
public import Webhooks

/// Why a broker could not start.
public enum StartError: Error, CustomStringConvertible {
    /// A certificate or key cannot be used.
    case certificate(TLSError)
    /// A system call that every broker needs has failed.
    case system(SystemError)
    /// The host to listen on has no address.
    case noAddress(host: String)
    /// The host to listen on could not be resolved.
    case resolve(ResolveError)
    /// Listening on the address has failed.
    case listen(SocketAddress, SystemError)
    /// Webhooks cannot be sent.
    case webhooks(WebhooksError)

    /// The error in one line, with a remedy.
    public var description: String {
        switch self {
        case .certificate(let error):
            "The certificate cannot be used: \(error)"
        case .system(let error):
            "The broker cannot start: a system call has failed: \(error)"
        case .noAddress(let host):
            "Host \"\(host)\" has no address to listen on"
        case .resolve(let error):
            "The host to listen on was not found: \(error)"
        case .listen(let address, let error):
            "Cannot listen on \(address): \(error). "
                + "Is another broker running there? Choose another port with --port"
        case .webhooks(let error):
            "Webhooks cannot be sent: \(error)"
        }
    }
}
