import RESP
import Redis
import TestRedis
import Testing

/// What strangers and backends make Redis keep has limits, beyond which the oldest goes first.
@Suite("Scripts: budgets of what is kept") struct BudgetScriptTests {
    private let keys = ClusterStore.keys

    /// What is kept, as counted: of all messages, or of a stream.
    private func bytes(_ store: ClusterStore, _ field: String = "") throws -> Int {
        Int(try store.call("HGET", keys.kept, field).text) ?? 0
    }

    private func texts(_ store: ClusterStore, _ channel: String) throws -> [String] {
        try store.call("XRANGE", keys.messages(ClusterStore.channel(channel)), "-", "+").elements
            .map { $0.elements[1].elements[1].text }
    }

    private func size(_ store: ClusterStore, _ channels: String...) throws -> Int {
        try channels.flatMap { try texts(store, $0) }.reduce(0) { $0 + $1.utf8.count + 32 }
    }

    private func sized(
        _ channel: String,
        _ time: Int,
        _ budgets: ClusterMessage.Budgets = .init(),
        lengthMax: Int = 1_000
    ) -> ClusterMessage {
        var message = message(on: channel, lengthMax: lengthMax, "e - \(time) \(time)")
        message.budgets = budgets
        return message
    }

    @Test("The oldest messages of all channels go first", arguments: [true, false])
    func removesTheOldestMessages(ofTheApp: Bool) throws {
        let store = try ClusterStore()
        try store.register()
        // Five messages of 41 bytes.
        let budgets = ClusterMessage.Budgets(
            appBytesMax: ofTheApp ? 205 : nil,
            bytesMax: ofTheApp ? nil : 205
        )
        for time in 10..<20 {
            let channel = time < 14 ? "x" : "y"
            _ = try store.publish(sized(channel, time, budgets), opens: true)
            #expect(try bytes(store) <= 205)
            #expect(try bytes(store) == size(store, "x", "y"))
            #expect(try bytes(store, "1") == bytes(store))
        }
        #expect(try texts(store, "x").isEmpty)
        #expect(try texts(store, "y") == (15..<20).map { "e - \($0) \($0)" })
        // One call that brings more than the budget does not exceed it either.
        _ = try store.publish((20..<60).map { sized("x", $0, budgets) }, opens: true)
        #expect(try texts(store, "x") == (55..<60).map { "e - \($0) \($0)" })
        #expect(try bytes(store) == 205)
    }

    @Test func countsWhatATrimOrAPurgeRemoves() throws {
        let store = try ClusterStore()
        try store.register()
        for time in 100..<300 {
            let text = "e - \(time) " + String(repeating: "x", count: time % 37)
            _ = try store.publish(message(on: "x", lengthMax: 10, text), opens: true)
        }
        #expect((10...11).contains(try texts(store, "x").count))
        #expect(try bytes(store) == size(store, "x"))
        _ = try store.publish(sized("y", 10), opens: true)
        try store.makeDue()
        let calls = store.calls(of: "a")
        try store.send(calls.trim(ClusterStore.channel("y"), age: 1, interval: 60_000)) {
            $0.integer
        }
        #expect(try bytes(store) == size(store, "x"))
        try store.send(calls.purge(ClusterStore.channel("x"), begins: false)) {
            StreamPosition($0)
        }
        #expect(try bytes(store) == 0)
        #expect(try store.call("HLEN", keys.kept).text == "2")
    }

    @Test(
        "A stream is shortened in blocks, whose sizes are known exactly",
        arguments: [20, 100, 600]
    )
    func shortensStreams(lengthMax: Int) throws {
        let store = try ClusterStore()
        try store.register()
        let field = keys.messages(ClusterStore.channel("x")).description
        for start in stride(from: 0, to: lengthMax * 3, by: 10) {
            let messages = (start..<start + 10).map { time in
                let text = "e - \(time) " + String(repeating: "x", count: time * 7 % 400)
                return message(on: "x", lengthMax: lengthMax, text)
            }
            _ = try store.publish(messages, opens: true)
            let count = try texts(store, "x").count
            #expect(count >= min(start + 10, lengthMax))
            #expect(count <= lengthMax + min(lengthMax / 8, 64))
            let size = try size(store, "x")
            #expect(try bytes(store, field) == size)
            #expect((size...max(size * 9 / 8, size + 2_048)).contains(try bytes(store, "1")))
        }
    }

    @Test("The oldest keys of the app are forgotten, on whichever channel")
    func forgetsIdempotencyKeys() throws {
        let store = try ClusterStore()
        try store.register()
        func publish(_ key: String, on channel: String) throws -> PublishOutcome {
            var message = message(on: channel, in: .none)
            message.idempotency = .init(key: key, digest: "d", age: 60, keysMax: 2)
            return try store.publish(message)[0]
        }
        for (index, key) in ["a", "b", "c"].enumerated() {
            #expect(try publish(key, on: "\(index % 2)") == .counted)
        }
        #expect(try publish("c", on: "0") == .repeated(nil))
        #expect(try publish("b", on: "1") == .repeated(nil))
        #expect(try publish("a", on: "0") == .counted)
    }

    @Test("Channels that nobody subscribes to any more are forgotten")
    func forgetsVacantChannels() throws {
        let store = try ClusterStore()
        try store.register()
        let rules = ChannelRules(isRecoverable: true, positionsMax: 2)
        func exists(_ name: String) throws -> Bool {
            let key = keys.messages(ClusterStore.channel(name))
            return try store.call("EXISTS", key) == .integer(1)
        }
        var streams: [StreamPosition?] = []
        for name in ["a", "b", "c", "d"] {
            streams.append(try store.attach(to: name, .stream, rules).newest)
            if name != "b" { try store.detach(from: name, rules) }
        }
        // One with subscriptions stays.
        #expect(try ["a", "b", "c", "d"].filter { try exists($0) } == ["b", "c", "d"])
        // The next stream of a forgotten channel is another one.
        let again = try #require(try store.attach(to: "a", .stream, rules).newest)
        #expect(again.stream > (streams[0]?.stream ?? .max))
    }

    @Test(
        "A stream in which nothing was published is kept as long as a message",
        arguments: [0, 1]
    )
    func forgetsEmptyStreams(messageCount: Int) throws {
        let store = try ClusterStore()
        try store.register()
        let rules = ChannelRules(isRecoverable: true)
        try store.attach(.stream, rules)
        for _ in 0..<messageCount { _ = try store.publish(message(in: .unknown)) }
        func trim(age: Int) throws -> Bool {
            try store.makeDue()
            let call = store.calls(of: "a").trim(
                ClusterStore.channel("x"),
                age: age,
                interval: 60_000,
                rules
            )
            try store.send(call) { $0.integer }
            return try store.call("EXISTS", store.messages) == .integer(1)
        }
        // It has a subscription.
        #expect(try trim(age: 0))
        try store.detach(rules)
        #expect(try trim(age: 60_000))
        #expect(try trim(age: 0) == (messageCount > 0))
    }
}
