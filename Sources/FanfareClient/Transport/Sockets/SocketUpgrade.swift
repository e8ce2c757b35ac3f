#if os(Linux)
    import HTTP1
    import WebSocket

    // The opening handshake of a link (RFC 6455 §4.1).
    extension SocketLink {
        func sendHandshake() {
            var nonce: [UInt8] = []
            for _ in 0..<16 { nonce.append(.random(in: .min ... .max)) }
            do throws(HandshakeFailure) {
                let handshake = try ClientHandshake(
                    host: request.endpoint.authority,
                    target: request.target,
                    nonce: nonce,
                    subprotocols: request.subprotocols
                )
                phase = .upgrading(handshake)
                write(handshake.request)
            } catch {
                fail(.unreachable(reason: "the request cannot be sent: \(error)"))
            }
        }

        /// Parses up to the end of the final response head; `nil` if it is incomplete or invalid.
        func readHandshake(
            in bytes: Span<UInt8>,
            at position: inout Int
        ) -> ResponseHead? {
            do throws(HTTPError) {
                while true {
                    switch try response.advance(over: bytes, from: &position) {
                    case .head(let head): return head
                    case .interim: continue
                    case .needsMore, .content: return nil
                    }
                }
            } catch {
                let fault =
                    switch error {
                    case .statusLineTooLong, .fieldsTooMany, .fieldsTooLong:
                        "the response is too long for a handshake"
                    default: "the response is not HTTP/1.1"
                    }
                fail(.upgradeRefused(reason: "\(fault): \(error)"))
                return nil
            }
        }

        /// Opens the link, or fails with the server's text; `rest` has the bytes received after the head.
        func finishUpgrade(
            _ handshake: ClientHandshake,
            _ head: ResponseHead,
            _ rest: Span<UInt8>
        ) {
            guard head.minorVersion == 1 else {
                return fail(.upgradeRefused(reason: "the response is HTTP/1.0, not 1.1"))
            }
            do throws(HandshakeFailure) {
                _ = try handshake.verify(status: head.status.code) { head.fields($0) }
                phase = .open
                receiver?.transportOpened()
            } catch {
                fail(.upgradeRefused(reason: error.description + advice(head, rest)))
            }
        }

        /// Returns the first line of a plain-text answer, such as a broker sends on a port with TLS.
        ///
        /// Empty if there is none, or if it has not arrived with the head.
        private func advice(_ head: ResponseHead, _ rest: Span<UInt8>) -> String {
            let isText = head.fields("content-type").first?.utf8.starts(with: "text/plain".utf8)
            guard isText == true, !head.fields("content-length").isEmpty else { return "" }
            let line = rest.withUnsafeBufferPointer { bytes in
                Array(bytes.prefix(200).prefix { $0 >= 0x20 && $0 != 0x7F })
            }
            return line.isEmpty ? "" : " It says: \(String(decoding: line, as: UTF8.self))"
        }
    }
#endif
