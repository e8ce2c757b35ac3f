#if os(Linux)
    import HTTP1
    import Net
    import WebSocket

    /// One connection on the loop's thread: addresses, then a stream, then a WebSocket.
    final class SocketLink: StreamOwner {
        private enum Phase {
            /// Names are being looked up, or an address is being tried.
            case connecting
            /// The opening handshake has been sent.
            case upgrading(ClientHandshake)
            case open
            /// The receiver has been told, or does not want to hear more.
            case ended
        }

        let request: TransportRequest
        private var receiver: (any TransportReceiver)?
        private let reactor: Reactor
        /// Called once, when the link holds no stream any more and never will.
        private let released: () -> Void
        private var phase = Phase.connecting
        private var addresses: ArraySlice<SocketAddress> = []
        private var tls: TLSContext?
        private var deadline = MonotonicTime(nanoseconds: 0)
        private var lastFault = "the name has no address"
        private var stream: Stream?
        private var isReading = true
        /// Reads the answer to the opening handshake; whatever content that announces is not read.
        private var answer = ResponseParser(limits: HTTPLimits(bodyLengthMax: .max))
        private var endpoint: WebSocketEndpoint

        /// How long a peer may take to end a connection that is closed politely.
        private static let closeTimeout = Duration.seconds(5)

        init(
            _ request: TransportRequest,
            _ receiver: any TransportReceiver,
            reactor: Reactor,
            released: @escaping () -> Void
        ) {
            self.request = request
            self.receiver = receiver
            self.reactor = reactor
            self.released = released
            endpoint = WebSocketEndpoint(
                role: .client,
                limits: WebSocketLimits(messageLengthMax: request.messageLengthMax)
            )
            deadline = reactor.now.advanced(by: request.timeout)
        }

        // MARK: Commands

        /// Tries the addresses in turn.
        func connect(to addresses: [SocketAddress], tls: TLSContext?) {
            self.addresses = addresses[...]
            self.tls = tls
            tryNextAddress()
        }

        func send(_ text: [UInt8]) {
            guard case .open = phase else { return }
            write(endpoint.encode(.text, text.span, mask: Self.freshMask()))
        }

        /// Closes without another word to the receiver.
        func close(code: UInt16, reason: String) {
            receiver = nil
            if case .open = phase {
                let code = CloseCode(rawValue: code)
                write(endpoint.close(code, reason: reason, mask: Self.freshMask()))
                phase = .ended
                stream?.close(within: Self.closeTimeout)
            } else {
                phase = .ended
                stream?.abort()
            }
            if stream == nil { released() }
        }

        func pauseReading() {
            isReading = false
            stream?.pauseReading()
        }

        func resumeReading() {
            isReading = true
            stream?.resumeReading()
        }

        /// Ends the link and tells the receiver why.
        func fail(_ closure: TransportClosure) {
            tell(closure)
            stream?.abort()
            if stream == nil { released() }
        }

        // MARK: Stream

        func streamOpened(_ stream: Stream) {
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
                stream.write(handshake.request)
            } catch {
                fail(.unreachable(reason: "the request cannot be sent: \(error)"))
            }
        }

        func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
            var position = 0
            if case .upgrading(let handshake) = phase,
                let head = readAnswer(in: bytes.span, at: &position)
            {
                finishUpgrade(handshake, head)
            }
            readMessages(in: &bytes, at: &position)
            if case .ended = phase { return bytes.count }
            return position
        }

        func streamReachedEnd(_ stream: Stream) {
            switch phase {
            case .upgrading:
                tell(.upgradeRefused(reason: "it ended the connection instead of answering"))
            case .open, .connecting:
                tell(.cut(reason: "the other side ended it"))
            case .ended: break
            }
            stream.close(within: Self.closeTimeout)
        }

        func streamClosed(_ stream: Stream, error: StreamError?) {
            self.stream = nil
            let fault = error?.description ?? "the other side ended it"
            switch phase {
            case .connecting:
                lastFault = fault
                return tryNextAddress()
            case .upgrading: tell(.upgradeRefused(reason: fault))
            case .open: tell(.cut(reason: fault))
            case .ended: break
            }
            released()
        }

        // MARK: Steps

        private func tryNextAddress() {
            while case .connecting = phase, let address = addresses.popFirst() {
                // What is left of the time is shared by the addresses that are left.
                let left = reactor.now.duration(to: deadline)
                let share = left / (addresses.count + 1)
                do throws(SystemError) {
                    stream = try reactor.connect(
                        to: address,
                        tls: tls.map { (context: $0, serverName: request.endpoint.host) },
                        timeout: max(share, .milliseconds(1)),
                        owner: self
                    )
                    if !isReading { stream?.pauseReading() }
                    return
                } catch {
                    lastFault = "\(address): \(error)"
                }
            }
            fail(.unreachable(reason: lastFault))
        }

        /// Reads up to the end of the final head; nil when that has not come, or was no answer.
        private func readAnswer(
            in bytes: Span<UInt8>,
            at position: inout Int
        ) -> ResponseHead? {
            do throws(HTTPError) {
                while true {
                    switch try answer.advance(over: bytes, from: &position) {
                    case .head(let head): return head
                    case .interim: continue
                    case .needsMore, .content: return nil
                    }
                }
            } catch {
                let fault =
                    switch error {
                    case .statusLineTooLong, .fieldsTooMany, .fieldsTooLong:
                        "its answer is too long for a handshake"
                    default: "its answer is no HTTP/1.1"
                    }
                fail(.upgradeRefused(reason: "\(fault): \(error)"))
                return nil
            }
        }

        private func finishUpgrade(_ handshake: ClientHandshake, _ head: ResponseHead) {
            guard head.minorVersion == 1 else {
                return fail(.upgradeRefused(reason: "its answer is HTTP/1.0, not 1.1"))
            }
            do throws(HandshakeFailure) {
                _ = try handshake.verify(status: head.status.code) { head.fields($0) }
                phase = .open
                receiver?.transportOpened()
            } catch {
                fail(.upgradeRefused(reason: error.description))
            }
        }

        private func readMessages(in bytes: inout MutableSpan<UInt8>, at position: inout Int) {
            do throws(WebSocketError) {
                while case .open = phase,
                    let incoming = try endpoint.next(in: &bytes, at: &position)
                {
                    take(incoming, in: bytes.span)
                }
            } catch {
                write(
                    endpoint.close(
                        error.closeCode,
                        reason: error.description,
                        mask: Self.freshMask()
                    )
                )
                tell(.protocolViolation(error.description))
                stream?.close(within: Self.closeTimeout)
            }
        }

        private func take(_ incoming: borrowing Incoming, in bytes: Span<UInt8>) {
            switch incoming.kind {
            case .text:
                incoming.withPayload(in: bytes) { receiver?.transportReceived($0) }
            case .binary:
                let fault = "a binary message, which the Pusher protocol does not have"
                write(endpoint.close(.unsupportedData, reason: fault, mask: Self.freshMask()))
                tell(.protocolViolation(fault))
                stream?.close(within: Self.closeTimeout)
            case .ping:
                write(
                    incoming.withPayload(in: bytes) {
                        endpoint.pong($0, mask: Self.freshMask())
                    }
                )
                receiver?.transportHeard()
            case .pong: receiver?.transportHeard()
            case .close(let code):
                let reason = String(decoding: incoming.payload(in: bytes), as: UTF8.self)
                write(endpoint.answerClose(mask: Self.freshMask()))
                tell(.closeFrame(code: code?.rawValue, reason: reason))
                stream?.close(within: Self.closeTimeout)
            }
        }

        private func write(_ frame: [UInt8]?) {
            if let frame { stream?.write(frame) }
        }

        /// Tells the receiver, once.
        private func tell(_ closure: TransportClosure) {
            phase = .ended
            receiver.take()?.transportClosed(closure)
        }

        /// RFC 6455 §5.3: each frame's key must be new and not to be guessed.
        private static func freshMask() -> UInt32 { .random(in: .min ... .max) }
    }
#endif
