#if os(Linux)
    import HTTP1
    import Net

    /// A server as a client reaches it.
    package struct HTTPOrigin: Sendable {
        /// The server; whatever stands in front of targets has no meaning here.
        package let address: HTTPAddress
        /// What a proxy is asked for, if there is one on the way.
        let tunnel: ProxyTunnel?

        /// Names a server.
        ///
        /// - Parameters:
        ///   - address: The server.
        ///   - proxy: The proxy on the way there; `nil` for none.
        /// - Throws: `.unreachable` when the proxy cannot be asked for this host.
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

    /// One request on its way, and the task that waits for the answer.
    struct Exchange: Sendable {
        /// Its number, of which no two exchanges of a client have the same.
        let id: UInt64
        /// The server.
        let origin: HTTPOrigin
        let method: Method
        /// Whether it may be sent again after the server has perhaps read it.
        let isRepeatable: Bool
        /// The request as it goes over the wire.
        let bytes: [UInt8]
        /// Where the server may be, the best first; those that did not answer are taken off.
        var addresses: [SocketAddress]
        /// The time that is left for it when it reaches the loop.
        let timeLeft: Duration
        /// The time that it had at first, for an error.
        let timeout: Duration
        let answerLengthMax: Int
        /// How long the content is read; `nil` to return it.
        let contentPeriod: Duration?
        let continuation: CheckedContinuation<Result<HTTPAnswer, HTTPFailure>, Never>
        /// Whether a byte of it has been handed to a connection that was open.
        var wasSent = false
        /// Whether it has been sent anew after a kept connection turned out to be closed.
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

        /// Ends the wait; exactly once.
        func finish(_ outcome: Result<HTTPAnswer, HTTPFailure>) {
            continuation.resume(returning: outcome)
        }
    }
#endif
