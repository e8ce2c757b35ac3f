#if canImport(Darwin) || DEBUG
    import Foundation

    /// What the errors of a `URLSessionWebSocketTask` mean for a connection.
    enum TaskFault {
        /// The error by which a platform says that its `URLSession` has no WebSocket.
        private static let unsupported = -1002

        /// Names what went wrong and what to do.
        ///
        /// - Parameters:
        ///   - error: What the task has failed with.
        ///   - isOpen: Whether the opening handshake was done.
        ///   - status: Of the answer to the opening handshake, if there was one.
        ///   - request: What was asked for.
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
            // CFNetworkErrors.h: proxy not reached, its login, its PAC file, its answer to CONNECT.
            if contains(error, "kCFErrorDomainCFNetwork", 306...311) {
                return .proxyFailed(
                    reason: "\(proxyName(request)) refuses: \(reason). \(proxyAdvice)"
                )
            }
            if let status, status != 101 {
                guard status != 407 else {
                    return .proxyFailed(
                        reason: "\(proxyName(request)) asks for a login (407). \(proxyAdvice)"
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
                return .upgradeRefused(reason: "its answer is no handshake: \(reason)")
            case NSURLErrorTimedOut: return .unreachable(reason: "no answer in time: \(reason)")
            case unsupported:
                return .unreachable(
                    reason: """
                        URLSession has no WebSocket on this platform (\(reason)); leave ClientOptions.transport as it is, \
                        which here is the socket transport
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

        /// What is said of a message past the limit.
        static func tooLong(limit: Int) -> String {
            "a message is longer than \(limit) bytes, the limit of ClientOptions.messageLengthMax"
        }

        private static let proxyAdvice =
            "Check its host, port, user and password in ClientOptions.proxy, and that it allows CONNECT to the broker"

        private static func proxyName(_ request: TransportRequest) -> String {
            if case .http(let proxy) = request.proxy {
                "the proxy \(proxy)"
            } else {
                "the system's proxy"
            }
        }

        /// Whether an error, or one that it is the consequence of, is one of these.
        private static func contains(
            _ error: NSError,
            _ domain: String,
            _ codes: some Collection<Int>
        ) -> Bool {
            var next: NSError? = error
            // An error that is its own cause would go on for ever.
            for _ in 0..<8 {
                guard let error = next else { return false }
                if error.domain == domain, codes.contains(error.code) { return true }
                next = error.userInfo[NSUnderlyingErrorKey] as? NSError
            }
            return false
        }
    }
#endif
