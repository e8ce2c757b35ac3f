import RESP
import RedisModel

/// A node's connection, as its Redis server or Sentinel has it.
final class RedisLink {
    /// What it leads to.
    enum End {
        /// A server.
        ///
        /// - Parameters:
        ///   - confirms: Whether the connection asks for confirmations of replicas alone.
        ///   - openedAt: The number of connections to servers before it.
        case redis(SimulatedRedis.Process, confirms: Bool, openedAt: Int)
        case sentinel(SimulatedSentinel)
    }

    let end: End
    let node: Int
    let shard: Int
    let connection: ModelServer.Connection
    /// The commands that were received and not executed.
    var commands: [[ByteString]] = []
    /// Whether nothing gets through to the server, or to the node.
    var isDeaf = false
    var isMute = false
    /// Injected fault: the Sentinel as it was when the node lost it, which goes on to answer.
    var former: ModelSentinel?
    private let pipe: Pipe
    private var decoder = CommandDecoder()

    init(
        _ pipe: Pipe,
        _ connection: ModelServer.Connection,
        to end: End,
        node: Int,
        shard: Int
    ) {
        (self.pipe, self.connection, self.end) = (pipe, connection, end)
        (self.node, self.shard) = (node, shard)
    }

    var isOpen: Bool { pipe.isOpen }

    /// Whether the node has closed the connection, which the server notices only when it has read everything before.
    var isLeft: Bool { pipe.isClosedByBroker }

    /// Whether the node has not taken all replies.
    var isBehind: Bool { pipe.waitingCount > 0 }

    /// Reads up to `limit` bytes of commands; returns their number.
    func receive(_ limit: Int) throws -> Int {
        guard !isDeaf, isOpen else { return 0 }
        let bytes = pipe.read(limit)
        do {
            commands += try decoder.receive(bytes)
        } catch {
            throw Violation(.content, "node \(node) sends Redis what it cannot read: \(error)")
        }
        return bytes.count
    }

    /// Queues a reply or a push; closes the connection if too much is queued (`client-output-buffer-limit`).
    func enqueue(_ value: RESPValue) {
        guard isOpen else { return }
        var bytes: [UInt8] = []
        value.encode(to: &bytes)
        pipe.enqueue(bytes)
        if pipe.waitingCount > ClusterScenario.outputMax { close() }
    }

    /// Writes up to `limit` bytes; returns their number.
    func send(_ limit: Int) -> Int { isMute ? 0 : pipe.push(limit) }

    /// Forgets the connection once the node has closed it, and everything it has sent is executed.
    func closeIfEnded() {
        if pipe.hasEnded, commands.isEmpty { close() }
    }

    func close() {
        guard isOpen else { return }
        pipe.close()
        commands = []
        switch end {
        case .redis(let process, _, _):
            process.links[connection] = nil
            process.model.disconnect(connection)
        case .sentinel(let sentinel): sentinel.forget(connection)
        }
    }
}
