import HTTP1
import HTTPServer
package import Net
import Synchronization

/// Serves the metrics on listeners and loops of their own: public clients cannot reach it, and scrapes are answered
/// while the shards are busy.
package final class MetricsServer: Sendable {
    private let services = Mutex<[HTTPService]>([])

    /// Creates a server without listeners.
    package init() {}

    /// Starts a listener.
    ///
    /// - Parameters:
    ///   - address: The address to listen on.
    ///   - text: Creates the answer to `GET /metrics`.
    /// - Returns: The address, with the port that the kernel chose.
    /// - Throws: The call that failed.
    package func open(
        on address: SocketAddress,
        text: @escaping @Sendable () async -> String
    ) throws(SystemError) -> SocketAddress {
        let opened = try HTTPService.start(on: [address]) { request in
            guard request.path == "/metrics" else {
                return .text("Nothing is here but /metrics\n", status: 404)
            }
            guard [.get, .head].contains(request.method) else {
                let allowed: [Method] = [.get, .head]
                return Response(refusing: .methodNotAllowed(request.method, allowed: allowed))
            }
            return .text(await text())
        }
        services.withLock { $0.append(opened) }
        return opened.addresses.first ?? address
    }

    /// Closes the listeners; requests in progress have a second.
    package func close() async {
        let services = services.withLock { exchange(&$0, with: []) }
        for service in services { await service.stop(within: .seconds(1)) }
    }
}
