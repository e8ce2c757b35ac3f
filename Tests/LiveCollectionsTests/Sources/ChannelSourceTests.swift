import FanfareAPI
import FanfareClient
import Foundation
import LiveCollections
import LiveRows
import Synchronization
import TestBroker
import Testing

@Suite("Lists over a channel", .timeLimit(.minutes(5))) @MainActor struct ChannelSourceTests {
    private func url() throws -> URL { try #require(URL(string: "http://backend.test/players")) }

    private func client(_ broker: TestBroker) -> Fanfare {
        var options = ClientOptions()
        options.reconnection.backoff = Backoff(floor: .zero, window: .zero, cap: .zero)
        let endpoint = Endpoint.plain(host: "127.0.0.1", port: UInt16(broker.port))
        return Fanfare(key: "app-key", endpoint: endpoint, options: options)
    }

    private func list(
        _ client: Fanfare,
        _ backend: ListBackend
    ) throws -> LiveList<Player> {
        let source = ChannelSource<Player>(
            channel: client.channel("players"),
            base: try url(),
            fields: { _ in ["Authorization": "token"] },
            exchange: { try await backend.exchange($0) }
        )
        client.connect()
        return LiveList(source, options: impatient)
    }

    @Test("Two clients edit one list over a broker, and both converge to the backend's rows")
    func twoClients() async throws {
        let broker = try await TestBroker.start()
        let backend = try ListBackend(api: broker.api, rows: [Player(1), Player(2)])
        let clients = [client(broker), client(broker)]
        let lists = try clients.map { try list($0, backend) }
        try await until { lists.allSatisfy(\.state.isLive) }
        lists[0].edit { $0.append(Player(3)) }
        lists[1].edit { $0.move(1, after: 2) }
        let last = lists[1].edit { $0.update(Player(1, "one")) }
        try await last.confirmed()
        try await until { lists.allSatisfy { $0.revision == 3 && $0.pendingEditCount == 0 } }
        let rows = await backend.snapshot.rows
        #expect(Array(lists[0].rows) == rows)
        #expect(Array(lists[1].rows) == rows)
        #expect(Set(rows.map(\.name)) == ["one", "#2", "#3"])
        let fields = await backend.requests.compactMap {
            $0.fields["Authorization"]
        }
        #expect(fields.allSatisfy { $0 == "token" })
        for client in clients { client.disconnect() }
        await broker.stop()
    }

    @Test("A refusal reverts the edit with the backend's reason", arguments: [403, 409, 413, 422])
    func refusals(status: Int) async throws {
        let broker = try await TestBroker.start()
        let backend = try ListBackend(api: broker.api, rows: [Player(1)])
        let client = client(broker)
        let list = try list(client, backend)
        try await until { list.state.isLive }
        await backend.refuseNext(status: status)
        await #expect(throws: LiveListError.refused(reason: "not today")) {
            try await list.edit { $0.remove(1) }.confirmed()
        }
        #expect(list.rows.count == 1)
        client.disconnect()
        await broker.stop()
    }

    @Test("Any other status keeps the edit, which is sent again", arguments: [401, 408, 429, 503])
    func otherStatuses(status: Int) async throws {
        let broker = try await TestBroker.start()
        let backend = try ListBackend(api: broker.api, rows: [Player(1)])
        let client = client(broker)
        let list = try list(client, backend)
        try await until { list.state.isLive }
        // A 401 is answered at once with new fields.
        for _ in 0..<4 { await backend.refuseNext(status: status) }
        var retryCount = 0
        let token = list.observeRetries { _ in retryCount += 1 }
        defer { token.cancel() }
        let edit = list.edit { $0.remove(1) }
        #expect(list.rows.isEmpty && list.pendingEditCount == 1)
        try await edit.confirmed()
        #expect(retryCount > 0)
        try await until { list.revision == 1 }
        #expect(list.rows.isEmpty)
        client.disconnect()
        await broker.stop()
    }

    @Test("Changes missed between two connections are recovered")
    func reconnects() async throws {
        let broker = try await TestBroker.start()
        let backend = try ListBackend(api: broker.api, rows: [Player(1)])
        let client = client(broker)
        let list = try list(client, backend)
        try await until { list.state.isLive }
        client.disconnect()
        try await until { list.state.isOffline }
        try await backend.commit(ListCommit(mutation: "a", operations: [.put(Player(2), after: 1)]))
        client.connect()
        try await until { list.rows.count == 2 && list.state.isLive }
        client.disconnect()
        await broker.stop()
    }

    @Test("A change that was not published is detected by the next one")
    func gap() async throws {
        let broker = try await TestBroker.start()
        let backend = try ListBackend(api: broker.api, rows: [Player(1)])
        let client = client(broker)
        let list = try list(client, backend)
        try await until { list.state.isLive }
        let lost = ListCommit<Player>(mutation: "a", operations: [.put(Player(2), after: 1)])
        try await backend.commit(lost, isTold: false)
        try await backend.commit(ListCommit(mutation: "b", operations: [.update(Player(1, "one"))]))
        try await until { list.rows.map(\.name) == ["one", "#2"] }
        client.disconnect()
        await broker.stop()
    }

    @Test("Application-specific events are mapped to operations by id")
    func mapped() async throws {
        struct Removed: Decodable { let id: Int }
        let broker = try await TestBroker.start()
        let client = client(broker)
        let source = MappedSource<Player>(
            channel: client.channel("userslist"),
            rows: { [Player(1), Player(2), Player(3)] },
            change: { event in
                switch event.name {
                case "addUser":
                    return MappedChange(operations: [.put(try event.decode(), after: 99)])
                case "removeUser":
                    return MappedChange(operations: [.remove(try event.decode(Removed.self).id)])
                default: return nil
                }
            }
        )
        let list = LiveList(source, options: impatient)
        client.connect()
        try await until { list.state.isLive }
        _ = try await broker.api.trigger("addUser", on: "userslist", data: Player(4, "Ann"))
        _ = try await broker.api.trigger("removeUser", on: "userslist", data: ["id": 2])
        try await until { list.rows.map(\.id) == [1, 3, 4] }
        await #expect(throws: LiveListError.readOnly) {
            try await list.edit { $0.remove(1) }.confirmed()
        }
        client.disconnect()
        await broker.stop()
    }

    @Test("Messages have the JSON format of backends and other clients")
    func wire() throws {
        let json = #"{"mutation":null,"operations":[{"id":1,"op":"remove"}],"revision":13}"#
        let change = try JSONDecoder().decode(ListChange<Player>.self, from: Data(json.utf8))
        #expect(change == ListChange(revision: 13, mutation: nil, operations: [.remove(1)]))
        let commit = ListCommit<Player>(mutation: "m", operations: [.move(1, after: nil)])
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let expected = #"{"mutation":"m","operations":[{"after":null,"id":1,"op":"move"}]}"#
        #expect(String(decoding: try encoder.encode(commit), as: UTF8.self) == expected)
    }
}
