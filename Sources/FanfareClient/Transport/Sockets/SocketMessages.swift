#if os(Linux)
    import Net
    import WebSocket

    // The messages of an open WebSocket.
    extension SocketLink {
        func readMessages(in bytes: inout MutableSpan<UInt8>, at position: inout Int) {
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
                notifyClosed(.protocolViolation(error.description))
                stream?.close(within: Self.closeTimeout)
            }
        }

        private func take(_ incoming: borrowing Incoming, in bytes: Span<UInt8>) {
            switch incoming.kind {
            case .text:
                incoming.withPayload(in: bytes) { receiver?.transportReceived($0) }
            case .binary:
                let fault = "a binary message, which the Pusher protocol does not allow"
                write(endpoint.close(.unsupportedData, reason: fault, mask: Self.freshMask()))
                notifyClosed(.protocolViolation(fault))
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
                notifyClosed(.closeFrame(code: code?.rawValue, reason: reason))
                stream?.close(within: Self.closeTimeout)
            }
        }

        func write(_ frame: [UInt8]?) {
            if let frame { stream?.write(frame) }
        }

        /// Notifies the receiver of the end, once.
        func notifyClosed(_ closure: TransportClosure) {
            phase = .ended
            receiver.take()?.transportClosed(closure)
        }

        /// Returns a fresh, unpredictable masking key; each frame needs its own (RFC 6455 §5.3).
        static func freshMask() -> UInt32 { .random(in: .min ... .max) }
    }
#endif
