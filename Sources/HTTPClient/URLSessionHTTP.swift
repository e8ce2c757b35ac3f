#if canImport(Darwin)
    import Foundation
    import Security

    /// Requests over `URLSession`, on Apple platforms.
    package final class URLSessionHTTP: HTTPTransport {
        private let address: HTTPAddress
        private let session: URLSession

        /// Makes a session without cookies, cache or stored credentials.
        ///
        /// - Parameters:
        ///   - address: The server.
        ///   - trust: Which certificates are believed.
        /// - Throws: `.unreachable` when the trusted certificates cannot be read.
        package init(
            to address: HTTPAddress,
            trust: HTTPTrust = .system
        ) throws(HTTPFailure) {
            self.address = address
            let configuration = URLSessionConfiguration.ephemeral
            configuration.urlCache = nil
            configuration.httpShouldSetCookies = false
            session = URLSession(
                configuration: configuration,
                delegate: try CertificateJudge(trust),
                delegateQueue: nil
            )
        }

        deinit { session.finishTasksAndInvalidate() }

        /// Sends one request and waits for the whole answer.
        package func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPAnswer {
            guard let url = URL(string: address.url + call.target) else {
                throw .invalidRequest("the request's path cannot be written: \(call.target)")
            }
            let (seconds, attoseconds) = call.timeout.components
            var message = URLRequest(
                url: url,
                timeoutInterval: Double(seconds) + Double(attoseconds) / 1e18
            )
            message.httpMethod = call.method
            for field in call.fields {
                message.setValue(field.value, forHTTPHeaderField: field.name)
            }
            if !call.body.isEmpty { message.httpBody = Data(call.body) }
            do {
                return try await exchange(message, lengthMax: call.answerLengthMax)
            } catch let error as HTTPFailure {
                throw error
            } catch is CancellationError {
                throw .cancelled(mayHaveArrived: true)
            } catch {
                throw URLSessionHTTP.failure(error, timeout: call.timeout)
            }
        }

        private func exchange(_ message: URLRequest, lengthMax: Int) async throws -> HTTPAnswer {
            let (content, response) = try await session.bytes(for: message)
            guard let response = response as? HTTPURLResponse else {
                throw HTTPFailure.unexpectedAnswer("it is not HTTP")
            }
            var body: [UInt8] = []
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

    /// Judges the server's certificate where the system's own judgement is not wanted.
    private final class CertificateJudge: NSObject, URLSessionDelegate, Sendable {
        private enum Judgement: Sendable {
            case system, everything
            /// Certificates in DER.
            case anchors([Data])
        }
        private let judgement: Judgement

        init(_ trust: HTTPTrust) throws(HTTPFailure) {
            switch trust {
            case .system: judgement = .system
            case .insecure: judgement = .everything
            case .certificates(let der): judgement = .anchors(der.map { Data($0) })
            case .file(let path):
                guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                    throw .unreachable("the file of trusted certificates cannot be read: \(path)")
                }
                judgement = .anchors(try CertificateJudge.certificates(in: text, from: path))
            case .pem(let bytes):
                let text = String(decoding: bytes, as: UTF8.self)
                judgement = .anchors(
                    try CertificateJudge.certificates(in: text, from: "the text given")
                )
            }
        }

        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            guard
                challenge.protectionSpace.authenticationMethod
                    == NSURLAuthenticationMethodServerTrust,
                let trust = challenge.protectionSpace.serverTrust
            else { return (.performDefaultHandling, nil) }
            switch judgement {
            case .system: return (.performDefaultHandling, nil)
            case .everything: return (.useCredential, URLCredential(trust: trust))
            case .anchors(let certificates):
                let anchors = certificates.compactMap {
                    SecCertificateCreateWithData(nil, $0 as CFData)
                }
                guard
                    SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess,
                    SecTrustEvaluateWithError(trust, nil)
                else { return (.cancelAuthenticationChallenge, nil) }
                return (.useCredential, URLCredential(trust: trust))
            }
        }

        private static func certificates(
            in text: String,
            from source: String
        ) throws(HTTPFailure) -> [Data] {
            let blocks = text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst()
            let certificates = blocks.compactMap { block in
                block.components(separatedBy: "-----END CERTIFICATE-----").first.flatMap {
                    Data(base64Encoded: $0, options: .ignoreUnknownCharacters)
                }
            }
            guard !certificates.isEmpty else {
                throw .unreachable("no certificate in \(source)")
            }
            return certificates
        }
    }
#endif
