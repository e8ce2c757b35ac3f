import HTTP1
import HTTPServer

/// The HTTP requests of one shard that wait for an answer made outside its loop.
final class DeferredAnswers {
    private var waiting: [UInt64: HTTPExchange] = [:]
    private var last: UInt64 = 0
    /// Hands an answer to the shard's loop, which calls ``complete(_:_:)``; `nil` for a shard without a thread.
    var deliver: (@Sendable (UInt64, Response) async -> Void)?

    /// The number of requests that wait.
    var count: Int { waiting.count }

    /// Answers a request later; `make` makes the answer, on no loop's thread, and must return, because a stop waits for
    /// the answer.
    func answer(_ exchange: HTTPExchange, _ make: @escaping @Sendable () async -> Response) {
        guard let deliver else {
            return exchange.respond(.text("Not available here\n", status: 503))
        }
        last += 1
        let id = last
        waiting[id] = exchange
        Task.detached { await deliver(id, await make()) }
    }

    /// Sends an answer.
    func complete(_ id: UInt64, _ response: Response) {
        waiting.removeValue(forKey: id)?.respond(response)
    }

    /// Drops the requests, when the shard has stopped.
    func dropPending() { waiting = [:] }
}
