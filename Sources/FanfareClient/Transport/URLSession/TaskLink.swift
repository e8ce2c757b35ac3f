#if canImport(Darwin) || DEBUG
    import Primitives

    /// One connection over a ``WebSocketTask``.
    ///
    /// `URLSession` answers pings without reporting them, so ``TransportReceiver/transportHeard()`` is never called;
    /// the client's own pings detect a dead connection. The client's timer also limits the duration of an attempt.
    final class TaskLink: TransportConnection {
        private enum Phase {
            /// There is no task yet, or it is connecting.
            case connecting
            case open
            /// The receiver has been notified, or the client has closed the connection.
            case ended
        }

        private struct State {
            var phase = Phase.connecting
            var task: (any WebSocketTask)?
            var receiver: (any TransportReceiver)?
            /// The messages sent before the connection was open.
            var early: [String] = []
            /// The number and bytes of the messages that the task has not sent yet.
            var sending = (count: 0, bytes: 0)
            /// The close frame to send after those.
            var pendingClose: (code: UInt16, reason: String)?
            var isReading = true
            /// Whether a `receive` of the task is pending.
            var isReceiving = false
            /// The reason for the end, if known before the task has ended.
            var fault: TransportClosure?
        }

        private let request: TransportRequest
        private let state: Lock<State>
        /// The time limit of the closing handshake.
        private let closeTimeout: Duration

        /// The most bytes that may wait to be sent.
        static let sendingBytesMax = 16 << 20

        init(
            _ request: TransportRequest,
            _ receiver: any TransportReceiver,
            closeTimeout: Duration = .seconds(5)
        ) {
            self.request = request
            self.closeTimeout = closeTimeout
            state = Lock(State(receiver: receiver))
        }

        // MARK: Commands

        /// Starts a task; cancels it instead if the connection has ended.
        func begin(_ task: any WebSocketTask) {
            let isWanted = state.withLock { state in
                guard state.phase == .connecting, state.task == nil else { return false }
                state.task = task
                return true
            }
            if isWanted { task.resume() } else { task.cancel() }
        }

        func send(_ text: [UInt8]) {
            let text = String(decoding: text, as: UTF8.self)
            let overflow = state.withLock { state -> Int? in
                switch state.phase {
                case .ended: return nil
                case .connecting:
                    state.early.append(text)
                    state.sending.bytes += text.utf8.count
                case .open: send(text, &state)
                }
                return state.sending.bytes > Self.sendingBytesMax ? state.sending.bytes : nil
            }
            guard let overflow else { return }
            let reason = "\(overflow) bytes wait to be sent; the limit is \(Self.sendingBytesMax)"
            // Asynchronously: the client holds its lock while it sends.
            Task.detached { self.end(.cut(reason: reason)) }
        }

        func close(code: UInt16, reason: String) {
            let task = state.withLock { state -> (any WebSocketTask)? in
                let wasOpen = state.phase == .open
                state.phase = .ended
                state.receiver = nil
                state.early = []
                guard wasOpen else { return exchange(&state.task, with: nil) }
                state.pendingClose = (code, Self.truncated(reason))
                sendPendingClose(&state)
                return nil
            }
            if let task { return task.cancel() }
            Task.detached { [closeTimeout] in
                try? await Task.sleep(for: closeTimeout)
                self.state.withLock { exchange(&$0.task, with: nil) }?.cancel()
            }
        }

        func pauseReading() { state.withLock { $0.isReading = false } }

        func resumeReading() {
            state.withLock { state in
                state.isReading = true
                receive(&state)
            }
        }

        /// Ends the connection and notifies the receiver, unless it has been notified.
        func end(_ closure: TransportClosure, code: UInt16? = nil) {
            let (receiver, task) = state.withLock { state in
                state.phase = .ended
                state.early = []
                return (exchange(&state.receiver, with: nil), exchange(&state.task, with: nil))
            }
            if let code { task?.close(code: code, reason: "") } else { task?.cancel() }
            receiver?.transportClosed(closure)
        }

        // MARK: Events of the task

        /// Called when the opening handshake has succeeded, with the subprotocol that the broker chose, if any.
        func opened(subprotocol: String?) {
            if let subprotocol, !request.subprotocols.contains(subprotocol) {
                return end(
                    .upgradeRefused(
                        reason:
                            "The server chose subprotocol '\(subprotocol)', which was not offered."
                    )
                )
            }
            let receiver = state.withLock { state -> (any TransportReceiver)? in
                guard state.phase == .connecting else { return nil }
                state.phase = .open
                state.sending.bytes = 0
                for text in exchange(&state.early, with: []) { send(text, &state) }
                return state.receiver
            }
            receiver?.transportOpened()
            state.withLock { receive(&$0) }
        }

        private func received(_ result: Result<WebSocketTaskMessage, any Error>) {
            let (receiver, task) = state.withLock { state in
                state.isReceiving = false
                return (state.phase == .open ? state.receiver : nil, state.task)
            }
            guard let receiver else { return }
            switch result {
            case .success(.text(let text)):
                guard text.utf8.count <= request.messageLengthMax else {
                    let fault = WebSocketTaskError.tooLong(limit: request.messageLengthMax)
                    return end(.protocolViolation(fault), code: 1009)
                }
                receiver.transportReceived(Array(text.utf8).span)
                state.withLock { receive(&$0) }
            case .success(.binary):
                let fault = "a binary message, which the Pusher protocol does not allow"
                end(.protocolViolation(fault), code: 1003)
            case .failure(let error):
                if let closure = task.flatMap(closeFrame(of:)) { return end(closure) }
                // A close frame may still be reported after this, and takes precedence.
                state.withLock { state in
                    state.fault =
                        state.fault
                        ?? WebSocketTaskError.closure(
                            for: error,
                            isOpen: true,
                            status: nil,
                            request: request
                        )
                }
                task?.cancel()
            }
        }

        /// Called for a close frame; the code is 1005 if the frame had none.
        func closed(code: Int, reason: String) {
            guard let closure = closeFrame(code: code, reason: reason) else { return }
            end(closure)
        }

        /// Called when the task has ended.
        ///
        /// - Parameters:
        ///   - error: The error; `nil` after a close frame.
        ///   - status: The status of the response to the opening handshake, if there was one.
        func completed(_ error: (any Error)?, status: Int?) {
            let (task, fault, isOpen) = state.withLock { state in
                (state.task, state.fault, state.phase == .open)
            }
            if let closure = task.flatMap(closeFrame(of:)) ?? fault { return end(closure) }
            guard let error else { return end(.cut(reason: "the peer closed it")) }
            end(
                WebSocketTaskError.closure(
                    for: error,
                    isOpen: isOpen,
                    status: status,
                    request: request
                )
            )
        }

        // MARK: Steps

        private func send(_ text: String, _ state: inout State) {
            let bytes = text.utf8.count
            state.sending.count += 1
            state.sending.bytes += bytes
            // Errors are ignored here: the task reports them again when it ends.
            state.task?.send(text) { _ in
                self.state.withLock { state in
                    state.sending.count -= 1
                    state.sending.bytes -= bytes
                    self.sendPendingClose(&state)
                }
            }
        }

        private func sendPendingClose(_ state: inout State) {
            guard state.sending.count == 0, let close = state.pendingClose else { return }
            state.pendingClose = nil
            state.task?.close(code: close.code, reason: close.reason)
        }

        private func receive(_ state: inout State) {
            guard state.phase == .open, state.isReading, !state.isReceiving else { return }
            state.isReceiving = true
            state.task?.receive { self.received($0) }
        }

        private func closeFrame(of task: any WebSocketTask) -> TransportClosure? {
            closeFrame(code: task.receivedCloseCode, reason: task.receivedCloseReason)
        }

        /// Returns the closure for a close code; `nil` for the codes that mean no close frame was received (RFC 6455
        /// §7.4.1).
        private func closeFrame(code: Int, reason: String) -> TransportClosure? {
            switch code {
            case 1005: .closeFrame(code: nil, reason: reason)
            case 1000...4999 where code != 1006 && code != 1015:
                .closeFrame(code: UInt16(code), reason: reason)
            default: nil
            }
        }

        /// Truncates a reason to the 123 bytes of a close frame (RFC 6455 §5.5).
        private static func truncated(_ reason: String) -> String {
            var reason = reason
            while reason.utf8.count > 123 { reason.removeLast() }
            return reason
        }
    }
#endif
