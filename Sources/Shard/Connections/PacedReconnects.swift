import Broker
import Net
import Primitives
package import PusherProtocol

/// Clients of one shard that are asked to reconnect (4200), because messages of their channels are missing.
///
/// They are closed at the pace of `shutdown.pace`, because all of them reconnect at once.
package final class PacedReconnects: TimerTarget {
    private static var tick: Duration { .milliseconds(20) }

    private let context: ShardContext
    private let connections: Connections
    private var waiting = Queue<SocketID>()
    private var isTimerRunning = false

    init(_ context: ShardContext, _ connections: Connections) {
        self.context = context
        self.connections = connections
    }

    /// The number of clients that are to be closed.
    var count: Int { waiting.count }

    /// Closes a client in its turn.
    package func append(_ socketID: SocketID) {
        waiting.append(socketID)
        guard !isTimerRunning else { return }
        isTimerRunning = true
        context.reactor.schedule(after: .zero, self)
    }

    func timerFired(tag: Int) {
        let count = max(1, context.settings.reconnectsPerSecond / 50)
        for socketID in waiting.elements.prefix(count) {
            connections[socketID]?
                .close(
                    .reconnectImmediately,
                    message: "Messages may be missing: the broker could not reach the other nodes"
                )
        }
        waiting.removeFirst(min(count, waiting.count))
        isTimerRunning = !waiting.isEmpty
        if isTimerRunning { context.reactor.schedule(after: Self.tick, self) }
    }
}
