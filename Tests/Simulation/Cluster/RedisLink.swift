import RESP
import RedisModel

/// A node's connection, as its Redis server has it.
final class RedisLink {
    let node: Int
    let shard: Int
    /// Whether it asks for confirmations of replicas alone.
    let confirms: Bool
    let connection: ModelServer.Connection
    /// The number of connections before it.
    let openedAt: Int
    unowned let process: SimulatedRedis.Process
    /// The commands that were received and not executed.
    var commands: [[ByteString]] = []
    /// Whether nothing gets through to the server, or to the node.
    var isDeaf = false
    var isMute = false
    private let pipe: Pipe
    private var decoder = CommandDecoder()

    init(
        _ pipe: Pipe,
        _ connection: ModelServer.Connection,
        of process: SimulatedRedis.Process,
        node: Int,
        shard: Int,
        confirms: Bool,
        at openedAt: Int
    ) {
        self.pipe = pipe
        self.openedAt = openedAt
        self.connection = connection
        self.process = process
        self.node = node
        self.shard = shard
        self.confirms = confirms
    }

    var isOpen: Bool { pipe.isOpen }

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
        process.links[connection] = nil
        process.model.disconnect(connection)
    }
}
