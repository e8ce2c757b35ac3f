#if os(Linux)
    import Digests
    import HTTP1

    /// A CONNECT request (RFC 9110 §9.3.6), and the parser of the proxy's response.
    package struct ProxyTunnel: Sendable {
        /// The reason why there is no tunnel, with advice.
        package struct Refusal: Error, Equatable {
            /// The reason, with the proxy's URL.
            package let reason: String
        }

        /// The encoded request.
        package let request: [UInt8]
        private let proxy: ProxyAddress
        private let target: String
        /// The content of a refusal is not read.
        private var answer = ResponseParser(limits: HTTPLimits(bodyLengthMax: .max))

        /// Creates the request to a server: a host name or an IP address, an IPv6 address without brackets.
        ///
        /// Throws if the host, the user or the password is invalid in a request.
        package init(
            by proxy: ProxyAddress,
            to host: String,
            _ port: UInt16
        ) throws(Refusal) {
            self.proxy = proxy
            target = "\(host.contains(":") ? "[\(host)]" : host):\(port)"
            var text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
            guard target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw Refusal(
                    reason: "\"\(host)\" is not a valid host for a proxy request"
                )
            }
            if let user = proxy.user {
                guard !user.utf8.contains(UInt8(ascii: ":")) else {
                    throw Refusal(
                        reason: "the user of \(proxy) must not contain a colon (RFC 7617)"
                    )
                }
                let pair = Base64.encode(Array("\(user):\(proxy.password)".utf8))
                text += "Proxy-Authorization: Basic \(pair)\r\n"
            }
            request = Array((text + "\r\n").utf8)
            answer.expect(.connect)
        }

        /// Parses the proxy's response.
        ///
        /// - Parameters:
        ///   - bytes: The bytes that are not consumed yet.
        ///   - position: The index of the first byte to parse; set to the end of the consumed bytes.
        /// - Returns: Whether the tunnel is open; if not, the response is incomplete.
        /// - Throws: The reason why there is no tunnel.
        package mutating func isOpened(
            by bytes: Span<UInt8>,
            at position: inout Int
        ) throws(Refusal) -> Bool {
            let head: ResponseHead?
            do throws(HTTPError) {
                head = try readHead(bytes, &position)
            } catch {
                throw refusal(error)
            }
            guard let head else { return false }
            guard head.status.isSuccess else { throw refusal(head) }
            // Nothing was sent through the tunnel yet, so the server cannot have answered.
            guard position == bytes.count else {
                throw refusal("sent data after its answer; check that it is an HTTP proxy")
            }
            return true
        }

        private mutating func readHead(
            _ bytes: Span<UInt8>,
            _ position: inout Int
        ) throws(HTTPError) -> ResponseHead? {
            while true {
                switch try answer.advance(over: bytes, from: &position) {
                case .head(let head): return head
                case .interim: continue
                case .needsMore, .content: return nil
                }
            }
        }

        // MARK: Refusals

        /// The refusal if the proxy ends the connection without a response.
        package var ended: Refusal {
            refusal("ended the connection instead of answering; check its log")
        }

        /// The refusal if the proxy does not respond within the timeout.
        package func timedOut(after limit: Duration) -> Refusal {
            refusal("did not answer within \(limit); check its host and port, and that it runs")
        }

        /// The refusal if the proxy is unreachable.
        package func unreachable(_ reason: String) -> Refusal {
            refusal("cannot be reached: \(reason). Check its host and port, and that it runs")
        }

        private func refusal(_ text: String) -> Refusal {
            Refusal(reason: "the proxy \(proxy) \(text)")
        }

        private func refusal(_ error: HTTPError) -> Refusal {
            switch error {
            case .statusLineTooLong, .fieldsTooMany, .fieldsTooLong:
                refusal("sent too long an answer: \(error) Check its host and port")
            default:
                refusal(
                    "did not answer with HTTP/1.1: \(error) Check its host and port, and that it is an HTTP proxy"
                )
            }
        }

        private func refusal(_ head: ResponseHead) -> Refusal {
            let status = head.status.code
            switch status {
            case 407: return refusal("\(login(head.fields("proxy-authenticate"))) (407)")
            case 401, 403, 405:
                return refusal(
                    """
                    does not allow a tunnel to \(target) (\(status)); have its operator allow CONNECT to that host \
                    and port; many allow only port 443
                    """
                )
            case 502, 503, 504:
                return refusal(
                    "cannot connect to \(target) (\(status)); check its host and port as the proxy sees them"
                )
            default:
                return refusal(
                    "answers CONNECT with \(status) instead of opening a tunnel; check that it is an HTTP proxy"
                )
            }
        }

        private func login(_ challenges: [String]) -> String {
            let asksBasic =
                challenges.isEmpty || challenges.contains { $0.lowercased().contains("basic") }
            guard asksBasic else {
                let schemes = challenges.map { $0.prefix { $0 != " " } }.joined(separator: ", ")
                return
                    "requires \(schemes.prefix(80)) authentication; only Basic is supported, enable that"
            }
            guard let user = proxy.user else {
                return
                    "requires authentication; set a user and a password in ClientOptions.network.proxy"
            }
            return
                "does not accept the password of \(user); check both in ClientOptions.network.proxy"
        }
    }
#endif
