#if os(Linux)
    import HTTP1
    import HTTPClient
    import Net
    import WebSocket

    /// One connection on the loop's thread.
    ///
    /// It tries the addresses, then opens a stream, a tunnel if there is a proxy, and a WebSocket.
    final class SocketLink: StreamDelegate, TimerTarget {
        enum Phase {
            /// A name is being resolved, or an address is being tried.
            case connecting
            /// The CONNECT request was sent to the proxy.
            case tunnelling(ProxyTunnel)
            /// The TLS handshake runs through the tunnel.
            case securing
            /// The opening handshake has been sent.
            case upgrading(ClientHandshake)
            case open
            /// The receiver has been notified, or the client has closed the connection.
            case ended
        }

        let request: TransportRequest
        var receiver: (any TransportReceiver)?
        private let reactor: Reactor
        /// Called once, when the link has no stream and will not open another.
        private let released: () -> Void
        var phase = Phase.connecting
        private var addresses: ArraySlice<SocketAddress> = []
        private var tls: TLSContext?
        private var tunnel: ProxyTunnel?
        /// The timeout of the tunnel.
        private var tunnelTimer: TimerID?
        private var deadline = MonotonicTime(nanoseconds: 0)
        private var lastFailure = TransportClosure.unreachable(reason: "the name has no address")
        private(set) var stream: Stream?
        private var isReading = true
        /// Parses the response to the opening handshake; the response's content is not read.
        var response = ResponseParser(limits: HTTPLimits(bodyLengthMax: .max))
        var endpoint: WebSocketEndpoint

        /// The time limit for the peer's close frame.
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
                // Shorter than the whole timeout, so that the error names the slow proxy.
                deadline = reactor.now.advanced(by: tunnelTimeout)
                tunnelTimer = reactor.schedule(after: tunnelTimeout, self)
            }
            tryNextAddress()
        }

        func send(_ text: [UInt8]) {
            guard case .open = phase else { return }
            write(endpoint.encode(.text, text.span, mask: Self.freshMask()))
        }

        /// Closes the connection without notifying the receiver.
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

        /// Aborts the connection and notifies the receiver.
        func fail(_ closure: TransportClosure) {
            notifyClosed(closure)
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
                readResponse(to: tunnel, in: bytes.span, at: &position)
                if case .ended = phase { return bytes.count }
                return position
            }
            if case .upgrading(let handshake) = phase,
                let head = readHandshake(in: bytes.span, at: &position)
            {
                finishUpgrade(handshake, head, bytes.span.extracting(position...))
            }
            readMessages(in: &bytes, at: &position)
            if case .ended = phase { return bytes.count }
            return position
        }

        func streamReachedEnd(_ stream: Stream) {
            switch phase {
            case .tunnelling(let tunnel): notifyClosed(.proxyFailed(reason: tunnel.ended.reason))
            case .upgrading:
                notifyClosed(
                    .upgradeRefused(reason: "the server closed the connection without a response")
                )
            case .open, .connecting, .securing:
                notifyClosed(.cut(reason: "the peer closed it"))
            case .ended: break
            }
            stream.close(within: Self.closeTimeout)
        }

        func streamClosed(_ stream: Stream, error: StreamError?) {
            self.stream = nil
            let fault = error?.description ?? "the peer closed it"
            switch phase {
            case .connecting:
                lastFailure = closure(for: error)
                return tryNextAddress()
            case .tunnelling(let tunnel):
                notifyClosed(.proxyFailed(reason: tunnel.unreachable(fault).reason))
            case .securing: notifyClosed(closure(for: error))
            case .upgrading: notifyClosed(.upgradeRefused(reason: fault))
            case .open: notifyClosed(.cut(reason: fault))
            case .ended: break
            }
            release()
        }

        /// Returns the reason a connection could not be opened: certificate, proxy or network.
        private func closure(for error: StreamError?) -> TransportClosure {
            let reason = error?.description ?? "the peer closed it"
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
                // The remaining addresses share the remaining time.
                let remaining = reactor.now.duration(to: deadline)
                let share = remaining / (addresses.count + 1)
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
                    lastFailure = .unreachable(reason: "\(address): \(error)")
                }
            }
            fail(lastFailure)
        }

        /// Removes the link from the loop.
        private func release() {
            stopTunnelTimer()
            released()
        }

        // MARK: Proxy

        private var tunnelTimeout: Duration { request.timeout * 2 / 3 }

        private func readResponse(
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

        /// Called when the proxy has not opened the tunnel in time.
        func timerFired(tag: Int) {
            tunnelTimer = nil
            guard let tunnel else { return }
            fail(.proxyFailed(reason: tunnel.timedOut(after: tunnelTimeout).reason))
        }
    }
#endif
