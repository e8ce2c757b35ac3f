#if os(Linux)
    import HTTP1
    import Net

    /// A server, with the proxy on the way to it.
    package struct HTTPOrigin: Sendable {
        /// The server; its path prefix is ignored.
        package let address: HTTPAddress
        /// The tunnel request, if there is a proxy.
        let tunnel: ProxyTunnel?

        /// Creates an origin, reached directly or by a proxy.
        ///
        /// - Throws: `.unreachable` if the host is invalid in a proxy request.
        package init(_ address: HTTPAddress, by proxy: ProxyAddress? = nil) throws(HTTPFailure) {
            self.address = address
            do throws(ProxyTunnel.Refusal) {
                tunnel = try proxy.map { proxy throws(ProxyTunnel.Refusal) in
                    try ProxyTunnel(by: proxy, to: address.host, address.port)
                }
            } catch {
                throw .unreachable(error.reason)
            }
        }
    }

    /// A request in progress, with the task that waits for the response.
    struct Exchange: Sendable {
        /// The ID, unique in a client.
        let id: UInt64
        /// The server.
        let origin: HTTPOrigin
        let method: Method
        /// Whether it may be repeated after the server has possibly read it.
        let isRepeatable: Bool
        /// The encoded request.
        let bytes: [UInt8]
        /// The server's addresses, the best first; those that did not answer are removed.
        var addresses: [SocketAddress]
        /// The remaining time when it reaches the loop.
        let timeLeft: Duration
        /// The whole timeout, for the error.
        let timeout: Duration
        let answerLengthMax: Int
        /// The time limit for the content, which is dropped; `nil` to return the content.
        let contentPeriod: Duration?
        let continuation: CheckedContinuation<Result<HTTPAnswer, HTTPFailure>, Never>
        /// Whether a part of it was written to an open connection.
        var wasSent = false
        /// Whether it was repeated after a kept connection turned out to be closed.
        var wasRepeated = false

        init(
            _ call: HTTPCall,
            id: UInt64,
            to origin: HTTPOrigin,
            as bytes: [UInt8],
            at addresses: [SocketAddress],
            timeLeft: Duration,
            continuation: CheckedContinuation<Result<HTTPAnswer, HTTPFailure>, Never>
        ) {
            self.id = id
            self.origin = origin
            method = Method(call.method)
            isRepeatable = call.isRepeatable
            self.bytes = bytes
            self.addresses = addresses
            self.timeLeft = timeLeft
            timeout = call.timeout
            answerLengthMax = call.answerLengthMax
            contentPeriod = call.contentPeriod
            self.continuation = continuation
        }

        /// Resumes the waiting task; call it exactly once.
        func finish(_ outcome: Result<HTTPAnswer, HTTPFailure>) {
            continuation.resume(returning: outcome)
        }
    }
#endif
