/// Sends requests to one server.
///
/// It uses this package's sockets on Linux and `URLSession` on Apple platforms; in tests it is scripted.
package protocol HTTPTransport: Sendable {
    /// Sends a request and waits for the complete response.
    ///
    /// - Parameter call: The request.
    /// - Returns: The final response, whatever its status is.
    /// - Throws: The reason why there is no response, also when the task is cancelled.
    func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPAnswer
}

/// Creates this platform's transport to a server, which connects on demand, and keeps connections for some time.
///
/// - Parameters:
///   - address: The server.
///   - trust: The accepted certificates.
///   - route: The route to the server.
/// - Returns: The transport.
/// - Throws: `.unreachable` if no thread or descriptor is left, or the certificates cannot be read.
package func platformTransport(
    to address: HTTPAddress,
    trust: HTTPTrust = .system,
    route: HTTPRoute = .system
) throws(HTTPFailure) -> any HTTPTransport {
    #if canImport(Darwin)
        try URLSessionHTTP(to: address, trust: trust, route: route)
    #else
        try SocketHTTP(to: address, trust: trust, route: route)
    #endif
}
