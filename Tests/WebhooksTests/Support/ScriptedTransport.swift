import Synchronization

@testable import Webhooks

/// A transport with scripted endpoints.
final class ScriptedTransport: WebhookTransport {
    /// An endpoint's reaction to a request; `nil` suspends it until ``answer(_:_:)``.
    typealias Script = @Sendable (_ request: WebhookRequest, _ number: Int) -> SendOutcome?

    private struct State {
        var requests: [WebhookRequest] = []
        var waiting: [Int: CheckedContinuation<SendOutcome, Never>] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())
    private let script: Script

    init(_ script: @escaping Script = { _, _ in .answered(status: 200) }) { self.script = script }

    /// All requests so far, in order.
    var requests: [WebhookRequest] { state.withLock { $0.requests } }
    /// Their contents.
    var bodies: [String] { requests.map { String(decoding: $0.body, as: UTF8.self) } }
    /// Their contents without `time_ms`.
    var events: [String] { bodies.map { String($0.drop { $0 != "[" }.dropLast()) } }
    /// The number of suspended requests.
    var waitingCount: Int { state.withLock { $0.waiting.count } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    func send(_ request: WebhookRequest) async -> SendOutcome {
        let number = state.withLock { state in
            state.requests.append(request)
            return state.requests.count - 1
        }
        if let outcome = script(request, number) { return outcome }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = state.withLock { state in
                    guard !Task.isCancelled else { return true }
                    state.waiting[number] = continuation
                    return false
                }
                if isCancelled { continuation.resume(returning: .failed("cancelled")) }
            }
        } onCancel: {
            answer(number, .failed("cancelled"))
        }
    }

    /// Resumes request `number`, counted from zero.
    func answer(_ number: Int, _ outcome: SendOutcome) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: outcome)
    }

    func close() async { state.withLock { $0.isClosed = true } }
}
