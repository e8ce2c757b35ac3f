package import HTTP1

/// The HTTP requests of one shard that wait for an answer made outside its loop.
package final class DeferredAnswers {
    private var waiting: [UInt64: (Response) -> Void] = [:]
    private var last: UInt64 = 0
    /// Hands an answer to the shard's loop, which calls ``complete(_:_:)``; `nil` for a shard without a thread.
    package var deliver: (@Sendable (UInt64, Response) async -> Void)?

    /// The number of requests that wait.
    var count: Int { waiting.count }

    /// Answers a request later, by `respond`; `make` makes the answer, on no loop's thread, and must return, because a
    /// stop waits for the answer.
    package func answer(
        _ respond: @escaping (Response) -> Void,
        _ make: @escaping @Sendable () async -> Response
    ) {
        guard let deliver else {
            return respond(.text("Not available here\n", status: 503))
        }
        last += 1
        let id = last
        waiting[id] = respond
        Task.detached { await deliver(id, await make()) }
    }

    /// Sends an answer.
    package func complete(_ id: UInt64, _ response: Response) {
        waiting.removeValue(forKey: id)?(response)
    }

    /// Drops the requests, when the shard has stopped.
    func dropPending() { waiting = [:] }
}
