import Net

/// Finds out whether there is a server, and at which of its addresses.
final class FirstContact: StreamDelegate {
    /// Whether the server has been reached, and then whether it is on this machine.
    private(set) var isLocal: Bool?
    /// Why it cannot be reached.
    private(set) var failure: BenchError?
    private let dialer: Dialer
    private let reactor: Reactor

    /// Begins a connection, which carries nothing.
    init(dialer: Dialer, reactor: Reactor) {
        self.dialer = dialer
        self.reactor = reactor
        connect()
    }

    private func connect() {
        do throws(BenchError) {
            _ = try dialer.connect(on: reactor, delegate: self)
        } catch {
            failure = error
        }
    }

    func streamOpened(_ stream: Stream) {
        let remote = stream.remoteAddress()
        isLocal = remote?.isLoopback == true || remote?.ip == stream.localAddress()?.ip
        stream.abort()
    }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { bytes.count }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        guard isLocal == nil, error != .shutDown else { return }
        guard !dialer.tryNextAddress() else { return connect() }
        let reason = error.map { "\($0)" } ?? "the server closed it"
        let hint =
            if case .tls = error {
                "--trust names a file with its certificate, --insecure accepts any."
            } else {
                "Is the server running there?"
            }
        failure = .unreachable(url: dialer.subject.target.url, reason: "\(reason). \(hint)")
    }
}
