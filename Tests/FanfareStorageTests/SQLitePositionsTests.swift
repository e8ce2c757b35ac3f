import FanfareClient
import FanfareStorage
import FanfareTesting
import Testing

@Suite("Positions in SQLite", .timeLimit(.minutes(1))) struct SQLitePositionsTests {
    private let file = TemporaryFile()

    private func position(_ channel: String, _ serial: UInt64) -> StoredPosition {
        StoredPosition(channel: channel, stream: "s1", serial: serial)
    }

    @Test("The last position of each channel is kept in the file")
    func keeps() async throws {
        let store = try SQLitePositions(path: file.path)
        #expect(try await store.positions() == [])
        try await store.save([position("a", 1), position("b\0'\"", 1 << 53 - 1)])
        try await store.save([position("a", 2)])
        try await store.save([])
        let again = try SQLitePositions(path: file.path)
        let expected = [position("b\0'\"", 1 << 53 - 1), position("a", 2)]
        #expect(try await again.positions() == expected)
    }

    @Test("Above the limit the positions that have not moved for longest are removed")
    func limits() async throws {
        let store = try SQLitePositions(path: file.path, countMax: 3)
        for number in 1...5 { try await store.save([position("\(number)", 1)]) }
        try await store.save([position("3", 2)])
        try await store.save([position("6", 1), position("7", 1)])
        #expect(try await store.positions().map(\.channel) == ["3", "6", "7"])
    }

    @Test("A new run of an app goes on where the last one was")
    func goesOn() async throws {
        let broker = ScriptedBroker()
        var number = 0
        for run in 0..<5 {
            let store = try SQLitePositions(path: file.path)
            let client = broker.client { $0.recovery.positions = store }
            let deliveries = client.channel("room").subscription().deliveries("e")
            client.connect()
            try await broker.waitForSubscribers(to: "room")
            number += 1
            try broker.trigger("e", on: "room", data: number)
            let first = run == 0 ? 1 : number - run
            var received: [String?] = []
            for try await case .event(let event, _) in deliveries {
                received.append(event.data)
                if received.count == number - first + 1 { break }
            }
            #expect(received == (first...number).map { "\($0)" })
            let last = UInt64(number)
            while try await store.positions().first?.serial != last {
                try await Task.sleep(for: .milliseconds(1))
            }
            client.disconnect()
            try await broker.waitForConnections(0)
            // As many as the number of the run are missed.
            for _ in 0..<(run + 1) {
                number += 1
                try broker.trigger("e", on: "room", data: number)
            }
        }
    }
}
