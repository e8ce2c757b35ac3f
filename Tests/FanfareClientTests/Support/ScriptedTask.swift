import Synchronization

@testable import FanfareClient

/// A WebSocket task controlled by a test.
final class ScriptedTask: WebSocketTask {
    enum Command: Equatable {
        case resume
        case send(String)
        case close(code: UInt16, reason: String)
        case cancel
    }

    private struct State {
        var commands: [Command] = []
        var closeFrame = (code: 0, reason: "")
        var sent: [@Sendable ((any Error)?) -> Void] = []
        var reader: (@Sendable (Result<WebSocketTaskMessage, any Error>) -> Void)?
    }

    private let state = Mutex(State())

    /// The calls of the link.
    var commands: [Command] { state.withLock { $0.commands } }
    /// Whether the link has a pending `receive`.
    var isRead: Bool { state.withLock { $0.reader != nil } }

    var receivedCloseCode: Int { state.withLock { $0.closeFrame.code } }
    var receivedCloseReason: String { state.withLock { $0.closeFrame.reason } }

    func resume() { state.withLock { $0.commands.append(.resume) } }
    func close(code: UInt16, reason: String) {
        state.withLock { $0.commands.append(.close(code: code, reason: reason)) }
    }
    func cancel() { state.withLock { $0.commands.append(.cancel) } }

    func send(_ text: String, completion: @escaping @Sendable ((any Error)?) -> Void) {
        state.withLock { state in
            state.commands.append(.send(text))
            state.sent.append(completion)
        }
    }

    func receive(
        completion: @escaping @Sendable (Result<WebSocketTaskMessage, any Error>) -> Void
    ) {
        state.withLock { $0.reader = completion }
    }

    /// Completes the oldest send.
    func finishSending(_ error: (any Error)? = nil) {
        state.withLock { $0.sent.isEmpty ? nil : $0.sent.removeFirst() }?(error)
    }

    /// Completes the pending `receive` with a message or an error.
    func deliver(_ result: Result<WebSocketTaskMessage, any Error>) {
        state.withLock { exchange(&$0.reader, with: nil) }?(result)
    }

    /// Releases all completion handlers.
    func releaseCallbacks() {
        let released = state.withLock { state in
            (exchange(&state.sent, with: []), exchange(&state.reader, with: nil))
        }
        // The closures' captures are released here, outside the lock.
        _ = released
    }

    /// Sets the received close frame without a callback.
    func setCloseFrame(_ code: Int, _ reason: String = "") {
        state.withLock { $0.closeFrame = (code, reason) }
    }
}

/// Records the events of a connection.
final class ScriptedReceiver: TransportReceiver {
    enum Sign: Equatable {
        case opened
        case text(String)
        case heard
        case closed(TransportClosure)
    }

    let signs = Mutex<[Sign]>([])
    var all: [Sign] { signs.withLock { $0 } }

    private func add(_ sign: Sign) { signs.withLock { $0.append(sign) } }

    func transportOpened() { add(.opened) }
    func transportReceived(_ text: Span<UInt8>) {
        add(.text(text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }))
    }
    func transportHeard() { add(.heard) }
    func transportClosed(_ closure: TransportClosure) { add(.closed(closure)) }

    /// Waits until the connection has ended.
    func closure() async -> TransportClosure? {
        while !Task.isCancelled {
            if case .closed(let closure) = all.last { return closure }
            await Task.yield()
        }
        return nil
    }
}
