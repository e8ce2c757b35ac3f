#if canImport(Darwin)
    import Foundation
    import Primitives
    import Security

    /// Sends requests with `URLSession`, on Apple platforms.
    package final class URLSessionHTTP: HTTPTransport {
        private let address: HTTPAddress
        private let session: URLSession

        /// Creates a session without cookies, cache or stored credentials.
        ///
        /// Throws `.unreachable` if the trusted certificates cannot be read.
        package init(
            to address: HTTPAddress,
            trust: HTTPTrust = .system,
            route: HTTPRoute = .system
        ) throws(HTTPFailure) {
            self.address = address
            let configuration = URLSessionConfiguration.ephemeral
            configuration.urlCache = nil
            configuration.httpShouldSetCookies = false
            SessionProxy.apply(route, to: configuration)
            let verification: Verification
            do throws(TrustFault) {
                verification = try Verification(reading: trust)
            } catch {
                throw .unreachable(error.description)
            }
            session = URLSession(
                configuration: configuration,
                delegate: CertificateJudge(verification),
                delegateQueue: nil
            )
        }

        deinit { session.finishTasksAndInvalidate() }

        /// Sends a request and waits for the complete response.
        package func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPAnswer {
            guard let url = URL(string: address.url + call.target) else {
                throw .invalidRequest("the request's path cannot be written: \(call.target)")
            }
            var message = URLRequest(url: url, timeoutInterval: call.timeout.inSeconds)
            message.httpMethod = call.method
            for field in call.fields {
                message.setValue(field.value, forHTTPHeaderField: field.name)
            }
            if !call.body.isEmpty { message.httpBody = Data(call.body) }
            do {
                return try await exchange(message, for: call)
            } catch let error as HTTPFailure {
                throw error
            } catch is CancellationError {
                throw .cancelled(mayHaveArrived: true)
            } catch {
                throw URLSessionHTTP.failure(error, timeout: call.timeout)
            }
        }

        private func exchange(_ message: URLRequest, for call: HTTPCall) async throws -> HTTPAnswer
        {
            let (content, response) = try await session.bytes(for: message)
            guard let response = response as? HTTPURLResponse else {
                throw HTTPFailure.unexpectedAnswer("it is not HTTP")
            }
            var body: [UInt8] = []
            // The session drops the rest.
            guard call.contentPeriod == nil else {
                return HTTPAnswer(status: response.statusCode, body: body)
            }
            let lengthMax = call.answerLengthMax
            for try await byte in content {
                guard body.count < lengthMax else {
                    throw HTTPFailure.answerTooLong(lengthMax: lengthMax)
                }
                body.append(byte)
            }
            return HTTPAnswer(status: response.statusCode, body: body)
        }

        private static func failure(_ error: any Error, timeout: Duration) -> HTTPFailure {
            let reason = error.localizedDescription
            switch (error as? URLError)?.code {
            // A session with a refused certificate ends in the same way.
            case .cancelled where !Task.isCancelled:
                return .unreachable("the server's certificate is not trusted")
            case .cancelled: return .cancelled(mayHaveArrived: true)
            case .timedOut: return .timedOut(after: timeout, mayHaveArrived: true)
            case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet,
                .secureConnectionFailed, .serverCertificateUntrusted,
                .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
                .serverCertificateNotYetValid, .appTransportSecurityRequiresSecureConnection:
                return .unreachable(reason)
            default: return .connectionLost(reason)
            }
        }
    }

    /// Verifies the server's certificate if the system's default verification is insufficient.
    private final class CertificateJudge: NSObject, URLSessionDelegate, Sendable {
        private let verification: Verification

        init(_ verification: Verification) { self.verification = verification }

        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            guard verification.isOwn,
                challenge.protectionSpace.authenticationMethod
                    == NSURLAuthenticationMethodServerTrust,
                let trust = challenge.protectionSpace.serverTrust
            else { return (.performDefaultHandling, nil) }
            guard verification.distrust(of: trust) == nil else {
                return (.cancelAuthenticationChallenge, nil)
            }
            return (.useCredential, URLCredential(trust: trust))
        }
    }
#endif
