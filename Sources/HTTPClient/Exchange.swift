#if os(Linux)
    import HTTP1
    import Net

    /// One request on its way, and who waits for the answer.
    struct Exchange: Sendable {
        let id: UInt64
        let method: Method
        /// Whether it may be sent again after the server has perhaps read it.
        let isRepeatable: Bool
        /// The request as it goes over the wire.
        let bytes: [UInt8]
        /// Where the server may be, the best first; those that did not answer are taken off.
        var addresses: [SocketAddress]
        let timeout: Duration
        let answerLengthMax: Int
        let continuation: CheckedContinuation<Result<HTTPAnswer, HTTPFailure>, Never>
        /// Whether a byte of it has been handed to a connection that was open.
        var wasSent = false
        /// Whether it has been sent anew after a kept connection turned out to be closed.
        var wasRepeated = false

        init(
            id: UInt64,
            method: Method,
            isRepeatable: Bool,
            bytes: [UInt8],
            addresses: [SocketAddress],
            timeout: Duration,
            answerLengthMax: Int,
            continuation: CheckedContinuation<Result<HTTPAnswer, HTTPFailure>, Never>
        ) {
            self.id = id
            self.method = method
            self.isRepeatable = isRepeatable
            self.bytes = bytes
            self.addresses = addresses
            self.timeout = timeout
            self.answerLengthMax = answerLengthMax
            self.continuation = continuation
        }

        /// Ends the wait; exactly once.
        func finish(_ outcome: Result<HTTPAnswer, HTTPFailure>) {
            continuation.resume(returning: outcome)
        }
    }
#endif
