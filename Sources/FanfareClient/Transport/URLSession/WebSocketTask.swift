#if canImport(Darwin) || DEBUG
    import Foundation

    /// The part of `URLSessionWebSocketTask` that a connection uses; tests have their own tasks.
    ///
    /// No method calls a completion before it returns. Completions are called one at a time, as with a serial delegate
    /// queue.
    protocol WebSocketTask: Sendable {
        /// The code of the received close frame; 0 before, and 1005 for a frame without a code.
        var receivedCloseCode: Int { get }
        /// The reason of that frame.
        var receivedCloseReason: String { get }

        /// Starts to connect.
        func resume()
        /// Sends a text message, in order.
        func send(_ text: String, completion: @escaping @Sendable ((any Error)?) -> Void)
        /// Receives one message.
        func receive(
            completion: @escaping @Sendable (Result<WebSocketTaskMessage, any Error>) -> Void
        )
        /// Sends a close frame and ends the connection.
        func close(code: UInt16, reason: String)
        /// Ends the connection or the attempt at once.
        func cancel()
    }

    /// A message received by a task.
    enum WebSocketTaskMessage: Sendable, Equatable {
        case text(String)
        case binary
    }

    /// Maps the errors of a `URLSessionWebSocketTask` to closures of a connection.
    enum WebSocketTaskError {
        /// The error code of a platform whose `URLSession` has no WebSocket.
        private static let unsupported = -1002

        /// Returns how the connection ended, with the reason and what to do.
        ///
        /// - Parameters:
        ///   - error: The task's error.
        ///   - isOpen: Whether the opening handshake had succeeded.
        ///   - status: The status of the response to the opening handshake, if there was one.
        ///   - request: The request.
        /// - Returns: How the connection ended.
        static func closure(
            for error: any Error,
            isOpen: Bool,
            status: Int?,
            request: TransportRequest
        ) -> TransportClosure {
            let error = error as NSError
            let reason = "\(error.localizedDescription) (\(error.domain) \(error.code))"
            if contains(error, NSPOSIXErrorDomain, [Int(POSIXErrorCode.EMSGSIZE.rawValue)]) {
                return .protocolViolation(tooLong(limit: request.messageLengthMax))
            }
            guard !isOpen else { return .cut(reason: reason) }
            // CFNetworkErrors.h: the proxy was not reached, or its login, its PAC file or its response to CONNECT
            // failed.
            if contains(error, "kCFErrorDomainCFNetwork", 306...311) {
                return .proxyFailed(
                    reason: "\(proxyName(request)) refused: \(reason). \(proxyAdvice)"
                )
            }
            if let status, status != 101 {
                guard status != 407 else {
                    return .proxyFailed(
                        reason: "\(proxyName(request)) requires a login (407). \(proxyAdvice)"
                    )
                }
                return .upgradeRefused(
                    reason: "The server answered with status \(status) instead of 101."
                )
            }
            guard error.domain == NSURLErrorDomain else { return .unreachable(reason: reason) }
            switch error.code {
            case NSURLErrorServerCertificateUntrusted, NSURLErrorServerCertificateHasBadDate,
                NSURLErrorServerCertificateHasUnknownRoot, NSURLErrorServerCertificateNotYetValid:
                return .untrusted(reason: reason)
            case NSURLErrorBadServerResponse:
                return .upgradeRefused(reason: "the response is not a handshake: \(reason)")
            case NSURLErrorTimedOut: return .unreachable(reason: "timed out: \(reason)")
            case unsupported:
                return .unreachable(
                    reason: """
                        URLSession has no WebSocket on this platform (\(reason)); keep the default of \
                        ClientOptions.network.transport, the socket transport
                        """
                )
            case -1022:
                return .unreachable(
                    reason: """
                        App Transport Security forbids ws (\(reason)); use wss, or allow the host in the Info.plist of the app
                        """
                )
            default: return .unreachable(reason: reason)
            }
        }

        /// Returns the error for a message above the limit.
        static func tooLong(limit: Int) -> String {
            "a message is longer than \(limit) bytes, the limit of ClientOptions.limits.messageLengthMax"
        }

        private static let proxyAdvice =
            """
            Check its host, port, user and password in ClientOptions.network.proxy, and that it allows CONNECT to \
            the broker
            """

        private static func proxyName(_ request: TransportRequest) -> String {
            if case .address(let proxy) = request.proxy.kind {
                "the proxy \(proxy)"
            } else {
                "the system's proxy"
            }
        }

        /// Whether an error or one of its underlying errors is one of these.
        private static func contains(
            _ error: NSError,
            _ domain: String,
            _ codes: some Collection<Int>
        ) -> Bool {
            var next: NSError? = error
            // Bounded, since an error may be its own underlying error.
            for _ in 0..<8 {
                guard let error = next else { return false }
                if error.domain == domain, codes.contains(error.code) { return true }
                next = error.userInfo[NSUnderlyingErrorKey] as? NSError
            }
            return false
        }
    }
#endif
