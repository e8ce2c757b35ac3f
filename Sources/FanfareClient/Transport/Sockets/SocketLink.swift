#if os(Linux)
    import HTTP1
    import HTTPClient
    import Net
    import WebSocket

    /// One connection on the loop's thread: addresses, then a stream, then a tunnel if a proxy is
    /// asked for one, then a WebSocket.
    final class SocketLink: StreamDelegate, TimerTarget {
        enum Phase {
            /// Names are being looked up, or an address is being tried.
            case connecting
            /// The proxy was asked for a tunnel.
            case tunnelling(ProxyTunnel)
            /// The tunnel is there, and the TLS handshake goes through it.
            case securing
            /// The opening handshake has been sent.
            case upgrading(ClientHandshake)
            case open
            /// The receiver has been told, or does not want to hear more.
            case ended
        }

        let request: TransportRequest
        var receiver: (any TransportReceiver)?
        private let reactor: Reactor
        /// Called once, when the link holds no stream any more and never will.
        private let released: () -> Void
        var phase = Phase.connecting
        private var addresses: ArraySlice<SocketAddress> = []
        private var tls: TLSContext?
        private var tunnel: ProxyTunnel?
        /// When the proxy has to have opened its tunnel.
        private var tunnelTimer: TimerID?
        private var deadline = MonotonicTime(nanoseconds: 0)
        private var lastFault = TransportClosure.unreachable(reason: "the name has no address")
        private(set) var stream: Stream?
        private var isReading = true
        /// Reads the answer to the opening handshake; whatever content that announces is not read.
        var answer = ResponseParser(limits: HTTPLimits(bodyLengthMax: .max))
        var endpoint: WebSocketEndpoint

        /// How long a peer may take to end a connection that is closed politely.
        static let closeTimeout = Duration.seconds(5)

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

        /// Tries the route's addresses in turn.
        func connect(by route: Route, tls: TLSContext?) {
            addresses = route.addresses[...]
            self.tls = tls
            if let proxy = route.proxy {
                do throws(ProxyTunnel.Refusal) {
                    tunnel = try ProxyTunnel(
                        by: proxy,
                        to: request.endpoint.host,
                        request.endpoint.port
                    )
                } catch {
                    return fail(.proxyFailed(reason: error.reason))
                }
                // Less than all the time there is, so that a proxy that is slow gets the blame.
                deadline = reactor.now.advanced(by: tunnelTimeout)
                tunnelTimer = reactor.schedule(after: tunnelTimeout, self)
            }
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
            if stream == nil { release() }
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
            if stream == nil { release() }
        }

        // MARK: Stream

        func streamOpened(_ stream: Stream) {
            if case .connecting = phase, let tunnel {
                phase = .tunnelling(tunnel)
                stream.write(tunnel.request)
            } else {
                sendHandshake()
            }
        }

        func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
            var position = 0
            if case .tunnelling(let tunnel) = phase {
                readAnswer(to: tunnel, in: bytes.span, at: &position)
                if case .ended = phase { return bytes.count }
                return position
            }
            if case .upgrading(let handshake) = phase,
                let head = readHandshake(in: bytes.span, at: &position)
            {
                finishUpgrade(handshake, head)
            }
            readMessages(in: &bytes, at: &position)
            if case .ended = phase { return bytes.count }
            return position
        }

        func streamReachedEnd(_ stream: Stream) {
            switch phase {
            case .tunnelling(let tunnel): tell(.proxyFailed(reason: tunnel.ended.reason))
            case .upgrading:
                tell(.upgradeRefused(reason: "it ended the connection instead of answering"))
            case .open, .connecting, .securing:
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
                lastFault = closure(for: error)
                return tryNextAddress()
            case .tunnelling(let tunnel):
                tell(.proxyFailed(reason: tunnel.unreachable(fault).reason))
            case .securing: tell(closure(for: error))
            case .upgrading: tell(.upgradeRefused(reason: fault))
            case .open: tell(.cut(reason: fault))
            case .ended: break
            }
            release()
        }

        /// Before the connection is open: whose fault it is that it does not come about.
        private func closure(for error: StreamError?) -> TransportClosure {
            let reason = error?.description ?? "the other side ended it"
            switch error {
            case .tls(.untrusted(let reason)): return .untrusted(reason: reason)
            case .tls(.unpinned(let keys)):
                return .untrusted(reason: Verification.fault(unpinned: keys))
            default: break
            }
            if case .connecting = phase, let tunnel {
                return .proxyFailed(reason: tunnel.unreachable(reason).reason)
            }
            return .unreachable(reason: reason)
        }

        // MARK: Connecting

        private func tryNextAddress() {
            while case .connecting = phase, let address = addresses.popFirst() {
                // What is left of the time is shared by the addresses that are left.
                let left = reactor.now.duration(to: deadline)
                let share = left / (addresses.count + 1)
                do throws(SystemError) {
                    stream = try reactor.connect(
                        to: address,
                        tls: tunnel == nil
                            ? tls.map { (context: $0, serverName: request.endpoint.host) } : nil,
                        timeout: max(share, .milliseconds(1)),
                        delegate: self
                    )
                    if !isReading { stream?.pauseReading() }
                    return
                } catch {
                    lastFault = .unreachable(reason: "\(address): \(error)")
                }
            }
            fail(lastFault)
        }

        /// The link is done: nothing of the loop's refers to it any more.
        private func release() {
            stopTunnelTimer()
            released()
        }

        // MARK: Proxy

        private var tunnelTimeout: Duration { request.timeout * 2 / 3 }

        private func readAnswer(
            to tunnel: ProxyTunnel,
            in bytes: Span<UInt8>,
            at position: inout Int
        ) {
            var tunnel = tunnel
            do throws(ProxyTunnel.Refusal) {
                let isOpened = try tunnel.isOpened(by: bytes, at: &position)
                guard isOpened else { return phase = .tunnelling(tunnel) }
                stopTunnelTimer()
                deadline = reactor.now.advanced(by: request.timeout)
                guard let tls, let stream else { return sendHandshake() }
                phase = .securing
                stream.startTLS(tls, serverName: request.endpoint.host, timeout: request.timeout)
            } catch {
                fail(.proxyFailed(reason: error.reason))
            }
        }

        private func stopTunnelTimer() {
            if let timer = tunnelTimer.take() { reactor.cancel(timer) }
        }

        /// The proxy has had its time.
        func timerFired(tag: Int) {
            tunnelTimer = nil
            guard let tunnel else { return }
            fail(.proxyFailed(reason: tunnel.timedOut(after: tunnelTimeout).reason))
        }
    }
#endif
