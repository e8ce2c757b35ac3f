/// The transport of a client that is not given another one.
enum DefaultTransport {
    #if os(Linux)
        /// The project's own sockets, where there is epoll.
        static let shared: any ClientTransport = SocketTransport()
    #else
        /// The platform's own WebSocket.
        static let shared: any ClientTransport = URLSessionTransport()
    #endif
}
