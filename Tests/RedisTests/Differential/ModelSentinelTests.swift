import RESP
import Redis
import RedisModel
import TestRedis
import Testing

@Suite("Model of Sentinels") struct ModelSentinelTests {
    /// A Sentinel's message to another one, by which that one learns of a failover.
    static func hello(_ epoch: Int, _ name: String, _ port: UInt16) -> [String] {
        let run = String(repeating: "a", count: 40)
        let text = "127.0.0.1,26379,\(run),\(epoch),\(name),127.0.0.1,\(port),\(epoch)"
        return ["PUBLISH", "__sentinel__:hello", text]
    }

    /// A real Sentinel and a model, which have the same commands and failovers.
    private final class Pair {
        let live: LiveRedis
        var model = ModelSentinel(run: String(repeating: "b", count: 40), startedAt: 0)
        private let connection: Int
        private var pushes: [RESPValue] = []
        private var epoch = 0

        init() throws {
            let sentinel = try RedisProcess(as: "redis-sentinel", files: ["sentinel.conf": []])
            var settings = LiveRedis.patience
            settings.requiresPrimary = false
            let live = try LiveRedis(sentinel, settings)
            live.run { !live.owner.events.isEmpty }
            try #require(live.owner.takeEvents() == [.opened])
            self.live = live
            connection = model.connect()
        }

        func monitor(_ port: UInt16) throws {
            try live.call("SENTINEL", "MONITOR", "main", "127.0.0.1", "\(port)", "2")
            model.monitor("main", .init(host: "127.0.0.1", port: port))
        }

        /// Another Sentinel tells of a failover.
        func announce(_ port: UInt16) throws {
            epoch += 1
            let message = ModelSentinelTests.hello(epoch, "main", port)
            try live.call(message[0], message[1], message[2])
            let server = ModelSentinel.Server(host: "127.0.0.1", port: port)
            pushes += model.switchPrimary("main", to: server, epoch: epoch).map(\.value)
        }

        /// Calls both, and returns their replies.
        func call(_ command: [String]) throws -> (real: RESPValue, model: RESPValue) {
            let call = try live.connection.call(argumentCount: command.count) { writer in
                for argument in command { writer.argument(argument) }
            }
            let real = try live.reply(to: call) { RESPValue($0) }
            let outputs = model.execute(command.map { ByteString($0) }, of: connection, at: 1_000)
            #expect(outputs.map(\.connection) == [connection])
            return (real, try #require(outputs.first).value)
        }

        func subscribe(_ channels: [String]) throws {
            try live.connection.subscribe(to: channels)
            let command = ["SUBSCRIBE"] + channels.map { ByteString($0) }
            pushes += model.execute(command, of: connection, at: 0).map(\.value)
        }

        /// Removes and returns the pushes of both.
        func takePushes() throws -> (real: [String], model: [String]) {
            try live.call("PING")
            let events = live.owner.takeEvents().map { event in
                if case .push(let push) = event {
                    push.elements.map(\.text).joined(separator: " ")
                } else {
                    "\(event)"
                }
            }
            defer { pushes = [] }
            let expected = pushes.map { push in
                push.elements.map { $0.string?.description ?? $0.description }
                    .joined(separator: " ")
            }
            return (events, expected)
        }
    }

    @Test func answersAsARealOne() throws {
        let pair = try Pair()
        let address = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"]
        let details = ["SENTINEL", "MASTER", "main"]
        let commands = [
            ["PING"], address, ["sentinel", "get-master-addr-by-name", "other"],
            ["SENTINEL", "GET-MASTER-ADDR-BY-NAME"], ["SENTINEL", "NOSUCH"],
            ["SENTINEL", "MASTER"], ["sentinel", "master", "other"], details,
            ["GET", "key"], ["SCRIPT", "LOAD", "return 1"], ["DBSIZE"],
            ["HELLO", "3", "SETNAME", "node"], ["CLIENT", "GETNAME"],
        ]
        func compare() throws {
            for command in commands {
                let (real, model) = try pair.call(command)
                if command[0] == "HELLO" {
                    // But for the version and the number of the connection; Valkey has another name.
                    let named = fields(real).map { $0.replacing("\"valkey\"", with: "\"redis\"") }
                    #expect(named == fields(model))
                } else if command == details, case .list(.map, _) = real {
                    // A real one has more of them.
                    #expect(Set(fields(real)).isSuperset(of: fields(model)))
                } else {
                    #expect(real == model, "\(command)")
                }
            }
        }
        try compare()
        try pair.monitor(6_379)
        try compare()
        #expect(try pair.call(address).model == .array([.bulk("127.0.0.1"), .bulk("6379")]))
        try pair.announce(6_380)
        try compare()
        #expect(try pair.call(address).model == .array([.bulk("127.0.0.1"), .bulk("6380")]))
        let epoch = RESPValue.bulk("1").description
        #expect(try fields(pair.call(details).model).last?.hasSuffix(epoch) == true)
    }

    @Test func announcesAnotherPrimaryAsARealOne() throws {
        let pair = try Pair()
        try pair.monitor(1)
        try pair.subscribe(["+switch-master", "other"])
        try pair.announce(2)
        // A later configuration with the same server is none.
        try pair.announce(2)
        try pair.announce(1)
        let (real, model) = try pair.takePushes()
        #expect(real == model)
        #expect(
            real == [
                "subscribe +switch-master 1", "subscribe other 2",
                "message +switch-master main 127.0.0.1 1 127.0.0.1 2",
                "message +switch-master main 127.0.0.1 2 127.0.0.1 1",
            ]
        )
    }

    /// What the module `Redis` reads of a server.
    @Test func describesItselfAsARealOne() throws {
        let pair = try Pair()
        let (real, model) = try pair.call(["INFO", "server", "replication"])
        func server(_ info: RESPValue) throws -> RedisServer {
            guard case .bulk(let text) = info else { throw Unexpected() }
            var server = try #require(pair.live.owner.server)
            (server.runID, server.startedAt) = (nil, nil)
            server.read(info: text.description)
            #expect(server.runID != nil)
            #expect(server.startedAt != nil)
            (server.runID, server.startedAt) = (nil, nil)
            return server
        }
        #expect(try server(real) == server(model))
        #expect(try server(model).mode == .sentinel)
    }

    private struct Unexpected: Error {}

    /// The keys of a map, with the values of those that are the same for each server.
    private func fields(_ map: RESPValue) -> [String] {
        let elements = map.elements
        return stride(from: 0, to: elements.count - 1, by: 2).map { index in
            let key = elements[index].description
            return key.contains("id") || key.contains("version")
                ? key : "\(key) \(elements[index + 1])"
        }
    }
}
