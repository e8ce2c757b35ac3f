/// The transport of a client that is not given another one.
enum DefaultTransport {
    #if os(Linux)
        /// The project's own sockets.
        static let shared: any ClientTransport = SocketTransport()
    #else
        /// None yet: pass one in ``ClientOptions/transport``.
        static let shared: any ClientTransport = NoTransport()
    #endif
}

#if !os(Linux)
    /// Stands where a platform's own WebSocket is to be, and says so.
    private struct NoTransport: ClientTransport, TransportConnection {
        func open(
            _ request: TransportRequest,
            receiver: any TransportReceiver
        ) -> any TransportConnection {
            Task {
                let reason = "there is no transport for this platform: set ClientOptions.transport"
                receiver.transportClosed(.unreachable(reason: reason))
            }
            return self
        }
        func send(_ text: [UInt8]) {}
        func close(code: UInt16, reason: String) {}
        func pauseReading() {}
        func resumeReading() {}
    }
#endif
