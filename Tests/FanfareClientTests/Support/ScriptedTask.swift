import Synchronization

@testable import FanfareClient

/// A WebSocket task whose other end is the test.
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

    /// What the link has had done.
    var commands: [Command] { state.withLock { $0.commands } }
    /// Whether the link waits for a message.
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

    /// The oldest message that was given to the task is on its way.
    func finishSending(_ error: (any Error)? = nil) {
        state.withLock { $0.sent.isEmpty ? nil : $0.sent.removeFirst() }?(error)
    }

    /// Gives whoever waits for a message this one, or an error.
    func bring(_ result: Result<WebSocketTaskMessage, any Error>) {
        state.withLock { exchange(&$0.reader, with: nil) }?(result)
    }

    /// Calls nobody any more.
    func forget() {
        let forgotten = state.withLock { state in
            (exchange(&state.sent, with: []), exchange(&state.reader, with: nil))
        }
        // What their closures own ends here, where no lock is held.
        _ = forgotten
    }

    /// A close frame has come, and nobody was told yet.
    func noteClose(_ code: Int, _ reason: String = "") {
        state.withLock { $0.closeFrame = (code, reason) }
    }
}

/// Notes what a connection tells.
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
