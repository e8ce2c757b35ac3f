import Broker
import BrokerConfiguration
import Glibc
import HTTPServer
import Net
import PusherProtocol
import Testing
import WebSocket

@testable import FanfareServer
@testable import Gateway
@testable import Shard

@Suite("The table of a shard's connections") struct ConnectionTableTests {
    /// Makes connections that share a stream, which the table does not use.
    private final class Maker {
        let reactor: Reactor
        private let core: ShardCore
        private let stream: Stream
        private let app: App

        init() throws {
            reactor = try Reactor(loop: EventLoop(name: "test"))
            var configuration = Configuration.development
            configuration.loops = 1
            let registry = AppRegistry(configuration.apps)
            core = ShardCore(
                ShardContext(
                    reactor: reactor,
                    settings: ServerSettings(configuration),
                    registry: registry,
                    links: ShardLinks(of: 0, mailboxes: [Mailbox(wakes: reactor.loop)])
                )
            )
            app = try #require(registry.apps[AppID("1")])
            var ends: [Int32] = [-1, -1]
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            #expect(socketpair(AF_UNIX, type, 0, &ends) == 0)
            close(ends[1])
            stream = try reactor.adopt(
                FileDescriptor(ends[0], from: "socketpair"),
                delegate: DrainingStream(in: DrainingStreams(), within: .zero)
            )
        }

        deinit { reactor.shutDown() }

        func add(to table: inout ConnectionTable, now: UInt32 = 0) -> Connection {
            let connection = Connection(
                socketID: table.makeSocketID(),
                app: app,
                transport: WebSocketTransport(
                    stream,
                    WebSocketEndpoint(role: .server),
                    deflaters: SharedDeflaters(options: nil)
                ),
                context: core.context
            )
            table.insert(connection, receivedAt: now)
            return connection
        }
    }

    @Test(
        "IDs of other nodes, and numbers of 64 bits, are those of no connection",
        arguments: [0, 3]
    )
    func otherNodes(node: UInt64) throws {
        let maker = try Maker()
        var table = ConnectionTable(shard: 0, shardCount: 1, random: RandomPool())
        let base = node << 23
        table.use(base: base)
        let connection = maker.add(to: &table)
        let own = connection.socketID
        #expect(own.first == base && table[own] === connection)
        for first in [0, 1, base &- 1, base + 1, base + 1 << 23, 1 << 63, .max] where first != base
        {
            #expect(table[SocketID(first, own.second)] == nil)
        }
        table.remove(own)
        #expect(table[own] == nil && table.count == 0)
    }

    private func makeTable() -> ConnectionTable {
        ConnectionTable(shard: 1, shardCount: 3, random: RandomPool())
    }

    private let settings = Liveness.Settings(activityTimeout: 120, pongTimeout: 30)

    /// The connections that are to be pinged.
    private func pinged(_ table: inout ConnectionTable, at now: UInt32) -> [SocketID] {
        var pinged: [SocketID] = []
        for page in table.pageNumbers {
            for (connection, action) in table.checkLiveness(page: page, at: now, settings) {
                #expect(action == .ping(.frame))
                pinged.append(connection.socketID)
            }
        }
        return pinged
    }

    @Test("After a peak it shrinks to the pages of the remaining connections")
    func afterAPeak() throws {
        let maker = try Maker()
        var table = makeTable()
        var connections = (0..<20_000).map { _ in maker.add(to: &table) }
        #expect(table.count == 20_000 && table.heldSlotCount < 20_100)
        // The remaining connections have slots from the first to the last.
        let staying = Set([0, 1, 7_000, 12_345, 19_999].map { connections[$0].socketID })
        for connection in connections where !staying.contains(connection.socketID) {
            table.remove(connection.socketID)
        }
        #expect(table.count == 5)
        #expect(table.heldSlotCount <= 5 * 64)
        #expect(Set(table.all.map(\.socketID)) == staying)
        #expect(Set(pinged(&table, at: 1_000)) == staying)
        for id in staying { #expect(table[id]?.socketID == id) }

        connections = (0..<60).map { _ in maker.add(to: &table, now: 1_000) }
        // New connections take the first slots, so that the last pages become empty.
        #expect(connections.allSatisfy { $0.socketID.first < 3 * 64 })
        for id in staying { table.remove(id) }
        #expect(table.count == 60 && table.heldSlotCount == 64)
        #expect(table.pageNumbers.count == 1)
        #expect(pinged(&table, at: 1_001).isEmpty)
    }

    @Test("It agrees with a dictionary, and no old ID finds a new connection")
    func agreesWithADictionary() throws {
        let maker = try Maker()
        var table = makeTable()
        var naive: [SocketID: Connection] = [:]
        var gone: [SocketID] = []
        for round in 0..<6 {
            let target = [500, 3, 300, 0, 70, 1][round]
            while naive.count < target {
                let connection = maker.add(to: &table)
                #expect(connection.socketID.first % 3 == 1)
                #expect(naive.updateValue(connection, forKey: connection.socketID) == nil)
            }
            while naive.count > target, let id = naive.keys.randomElement() {
                naive[id] = nil
                table.remove(id)
                gone.append(id)
            }
            #expect(table.count == naive.count)
            #expect(Set(table.all.map(\.socketID)) == Set(naive.keys))
            for (id, connection) in naive { #expect(table[id] === connection) }
            for id in gone { #expect(table[id] == nil) }
        }
    }

    @Test("Silent connections are pinged, and closed without an answer")
    func checksLiveness() throws {
        let maker = try Maker()
        var table = makeTable()
        let (active, silent) = (maker.add(to: &table), maker.add(to: &table))
        table.received(from: active.socketID, at: 100)
        #expect(pinged(&table, at: 150) == [silent.socketID])
        let actions = table.checkLiveness(page: 0, at: 180, settings)
        #expect(actions.count == 1)
        #expect(actions.first?.0 === silent && actions.first?.1 == .close)
    }
}
