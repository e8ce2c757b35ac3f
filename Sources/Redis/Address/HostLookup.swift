import Dispatch
import Net
import Synchronization

/// The look-up of a host name on its own thread, because it may take seconds.
final class HostLookup: Sendable {
    private let state = Mutex<Result<[SocketAddress], ResolveError>?>(nil)

    /// The addresses, at least one, or the reason why there are none; nil until the name servers have answered.
    var result: Result<[SocketAddress], ResolveError>? { state.withLock { $0 } }

    init(host: String, port: UInt16) {
        DispatchQueue.global().async {
            let result = Result { () throws(ResolveError) in
                try SocketAddress.resolve(host: host, port: port)
            }
            self.state.withLock { $0 = result }
        }
    }
}
