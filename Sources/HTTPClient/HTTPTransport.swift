/// Sends requests to one server: over this package's sockets on Linux, with `URLSession` on Apple platforms, or
/// scripted in tests.
package protocol HTTPTransport: Sendable {
    /// Sends a request and waits for the complete answer.
    ///
    /// - Parameter call: The request.
    /// - Returns: The final answer, whatever its status is.
    /// - Throws: The reason why there is no answer, also when the task is cancelled.
    func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPAnswer
}

/// Creates this platform's transport to a server.
///
/// - Parameters:
///   - address: The server.
///   - trust: The accepted certificates.
///   - route: The route to the server.
/// - Returns: A transport that connects on demand, and keeps connections for a while.
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
