#if os(Linux)
    import Digests
    import HTTP1

    /// A request for a tunnel to a server (RFC 9110 §9.3.6), and what the proxy makes of it.
    package struct ProxyTunnel: Sendable {
        /// Why there is no tunnel, and what to do about it.
        package struct Refusal: Error, Equatable {
            /// In words, with the proxy's URL.
            package let reason: String
        }

        /// What to write to the proxy.
        package let request: [UInt8]
        private let proxy: ProxyAddress
        private let target: String
        /// Whatever content a refusal announces is not read.
        private var answer = ResponseParser(limits: HTTPLimits(bodyLengthMax: .max))

        /// Prepares the request.
        ///
        /// - Parameters:
        ///   - proxy: Who is asked.
        ///   - host: Where the tunnel is to lead: a name or an address, an IPv6 address without brackets.
        ///   - port: The TCP port there.
        /// - Throws: The host, the user or the password would break the request.
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
                    reason: "\"\(host)\" cannot be asked of a proxy: it is no host"
                )
            }
            if let user = proxy.user {
                guard !user.utf8.contains(UInt8(ascii: ":")) else {
                    throw Refusal(
                        reason: "the user for \(proxy) has a colon in the name (RFC 7617)"
                    )
                }
                let pair = Base64.encode(Array("\(user):\(proxy.password)".utf8))
                text += "Proxy-Authorization: Basic \(pair)\r\n"
            }
            request = Array((text + "\r\n").utf8)
            answer.expect(.connect)
        }

        /// Reads the proxy's answer.
        ///
        /// - Parameters:
        ///   - bytes: What has come and was not consumed.
        ///   - position: Where to read on; left behind what was consumed.
        /// - Returns: Whether the tunnel is open; if not, the answer is not complete.
        /// - Throws: Why there is no tunnel.
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
            // Nothing was sent through the tunnel yet, so nothing can have come out of it.
            guard position == bytes.count else {
                throw refusal("says more than its answer; it is no proxy that opens tunnels")
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

        /// The proxy ended the connection before it answered.
        package var ended: Refusal {
            refusal("ended the connection instead of answering; check its log")
        }

        /// The proxy was not reached, or has not answered, in the time there was.
        package func timedOut(after limit: Duration) -> Refusal {
            refusal("did not answer within \(limit); check its host and port, and that it runs")
        }

        /// The proxy was not reached.
        package func unreachable(_ reason: String) -> Refusal {
            refusal("is not reached: \(reason). Check its host and port, and that it runs")
        }

        private func refusal(_ text: String) -> Refusal {
            Refusal(reason: "the proxy \(proxy) \(text)")
        }

        private func refusal(_ error: HTTPError) -> Refusal {
            switch error {
            case .statusLineTooLong, .fieldsTooMany, .fieldsTooLong:
                refusal("answers at too great length: \(error) Check its host and port")
            default:
                refusal(
                    "answers no HTTP/1.1: \(error) Check its host and port, and that it is an HTTP proxy"
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
                    and port, many allow port 443 alone
                    """
                )
            case 502, 503, 504:
                return refusal(
                    "does not get through to \(target) (\(status)); check its host and port as the proxy sees them"
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
                    "asks for a login by \(schemes.prefix(80)), and only Basic is known; have it accept Basic"
            }
            guard let user = proxy.user else {
                return "asks who you are; set a user and a password in ClientOptions.proxy"
            }
            return
                "does not accept the password of \(user); check both in ClientOptions.proxy"
        }
    }
#endif
