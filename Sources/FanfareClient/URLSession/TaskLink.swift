#if canImport(Darwin) || DEBUG
    import Synchronization

    /// One connection over a ``WebSocketTask``: what its client says and hears, in order.
    ///
    /// URLSession answers pings by itself and tells of none, so ``TransportReceiver/transportHeard()``
    /// is never called: the client's own pings find out whether the broker is there. The client's timer
    /// also ends an attempt that takes too long.
    final class TaskLink: TransportConnection {
        private enum Phase {
            /// There is no task yet, or it is connecting.
            case connecting
            case open
            /// The receiver has been told, or does not want to hear more.
            case ended
        }

        private struct State {
            var phase = Phase.connecting
            var task: (any WebSocketTask)?
            var receiver: (any TransportReceiver)?
            /// What was said before the connection was open.
            var early: [String] = []
            /// Messages, and their bytes, that were given to the task and are not on their way yet.
            var sending = (count: 0, bytes: 0)
            /// How to close once those are.
            var farewell: (code: UInt16, reason: String)?
            var isReading = true
            /// Whether the task was asked for a message.
            var isReceiving = false
            /// Why the connection ends, found out before the task has ended.
            var fault: TransportClosure?
        }

        private let request: TransportRequest
        private let state: Mutex<State>
        /// How long a polite end may take.
        private let closeTimeout: Duration

        /// Bytes that may wait for a broker that does not read.
        static let sendingBytesMax = 16 << 20

        init(
            _ request: TransportRequest,
            _ receiver: any TransportReceiver,
            closeTimeout: Duration = .seconds(5)
        ) {
            self.request = request
            self.closeTimeout = closeTimeout
            state = Mutex(State(receiver: receiver))
        }

        // MARK: Commands

        /// Takes a task and begins to connect; the task is cancelled if nobody waits for it any more.
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
            // Not from here: the client holds its lock while it sends.
            Task.detached { self.end(.cut(reason: reason)) }
        }

        func close(code: UInt16, reason: String) {
            let task = state.withLock { state -> (any WebSocketTask)? in
                let wasOpen = state.phase == .open
                state.phase = .ended
                state.receiver = nil
                state.early = []
                guard wasOpen else { return exchange(&state.task, with: nil) }
                state.farewell = (code, Self.shortened(reason))
                sayFarewell(&state)
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

        /// Ends the connection and tells the receiver why, unless it knows.
        func end(_ closure: TransportClosure, code: UInt16? = nil) {
            let (receiver, task) = state.withLock { state in
                state.phase = .ended
                state.early = []
                return (exchange(&state.receiver, with: nil), exchange(&state.task, with: nil))
            }
            if let code { task?.close(code: code, reason: "") } else { task?.cancel() }
            receiver?.transportClosed(closure)
        }

        // MARK: What the task tells

        /// The opening handshake is done.
        ///
        /// - Parameter subprotocol: What the broker chose.
        func opened(subprotocol: String?) {
            if let subprotocol, !request.subprotocols.contains(subprotocol) {
                return end(
                    .upgradeRefused(
                        reason: "The server chose subprotocol '\(subprotocol)', not asked for."
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
                    let fault = TaskFault.tooLong(limit: request.messageLengthMax)
                    return end(.protocolViolation(fault), code: 1009)
                }
                receiver.transportReceived(Array(text.utf8).span)
                state.withLock { receive(&$0) }
            case .success(.binary):
                let fault = "a binary message, which the Pusher protocol does not have"
                end(.protocolViolation(fault), code: 1003)
            case .failure(let error):
                if let closure = task.flatMap(closeFrame(of:)) { return end(closure) }
                // The close frame may be told after this: what it says matters more.
                state.withLock { state in
                    state.fault =
                        state.fault
                        ?? TaskFault.closure(
                            for: error,
                            isOpen: true,
                            status: nil,
                            request: request
                        )
                }
                task?.cancel()
            }
        }

        /// A close frame has come.
        ///
        /// - Parameters:
        ///   - code: Its code; 1005 if it had none.
        ///   - reason: Its reason.
        func closed(code: Int, reason: String) {
            guard let closure = closeFrame(code: code, reason: reason) else { return }
            end(closure)
        }

        /// The task has ended.
        ///
        /// - Parameters:
        ///   - error: Why, if that was no close frame.
        ///   - status: Of the answer to the opening handshake, if there was one.
        func completed(_ error: (any Error)?, status: Int?) {
            let (task, fault, isOpen) = state.withLock { state in
                (state.task, state.fault, state.phase == .open)
            }
            if let closure = task.flatMap(closeFrame(of:)) ?? fault { return end(closure) }
            guard let error else { return end(.cut(reason: "the other side ended it")) }
            end(TaskFault.closure(for: error, isOpen: isOpen, status: status, request: request))
        }

        // MARK: Steps

        private func send(_ text: String, _ state: inout State) {
            let bytes = text.utf8.count
            state.sending.count += 1
            state.sending.bytes += bytes
            // An error is not judged here: the task tells it once more when it has ended.
            state.task?.send(text) { _ in
                self.state.withLock { state in
                    state.sending.count -= 1
                    state.sending.bytes -= bytes
                    self.sayFarewell(&state)
                }
            }
        }

        private func sayFarewell(_ state: inout State) {
            guard state.sending.count == 0, let farewell = state.farewell else { return }
            state.farewell = nil
            state.task?.close(code: farewell.code, reason: farewell.reason)
        }

        private func receive(_ state: inout State) {
            guard state.phase == .open, state.isReading, !state.isReceiving else { return }
            state.isReceiving = true
            state.task?.receive { self.received($0) }
        }

        private func closeFrame(of task: any WebSocketTask) -> TransportClosure? {
            closeFrame(code: task.receivedCloseCode, reason: task.receivedCloseReason)
        }

        /// nil for the codes that stand for no close frame at all (RFC 6455 §7.4.1).
        private func closeFrame(code: Int, reason: String) -> TransportClosure? {
            switch code {
            case 1005: .closeFrame(code: nil, reason: reason)
            case 1000...4999 where code != 1006 && code != 1015:
                .closeFrame(code: UInt16(code), reason: reason)
            default: nil
            }
        }

        /// A close frame has room for 123 bytes of reason (RFC 6455 §5.5).
        private static func shortened(_ reason: String) -> String {
            var reason = reason
            while reason.utf8.count > 123 { reason.removeLast() }
            return reason
        }
    }
#endif
