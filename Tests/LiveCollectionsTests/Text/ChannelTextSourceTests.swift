import FanfareClient
import FanfareTesting
import Foundation
import LiveCollections
import Synchronization
import Testing

/// Reads the events of a source.
private struct EventReader {
    private var news: AsyncStream<TextSourceEvent>.Iterator
    private var last: TextSourceEvent?

    init(_ source: ChannelTextSource) { news = source.news().makeAsyncIterator() }

    /// Returns the next event; repeated reports of the connection count as one.
    mutating func next() async -> TextSourceEvent? {
        repeat {
            let next = await news.next()
            defer { last = next }
            let isRepeated = next == last || (next == .resumed && last == .connected)
            if !isRepeated || (next != .connected && next != .resumed) { return next }
        } while true
    }
}

/// An interruption that an app causes, and its end.
private enum Interruption: CaseIterable {
    case disconnect, suspend, stop

    @MainActor func begin(_ client: Fanfare, _ text: LiveText) {
        switch self {
        case .disconnect: client.disconnect()
        case .suspend: client.suspend()
        case .stop: text.stop()
        }
    }

    @MainActor func end(_ client: Fanfare, _ text: LiveText) {
        switch self {
        case .disconnect, .suspend: client.connect()
        case .stop: text.start()
        }
    }
}

@Suite("A text over a channel", .timeLimit(.minutes(1))) @MainActor
struct ChannelTextSourceTests {
    private static var options: LiveText.Options {
        var options = LiveText.Options()
        options.sendingDelay = .zero
        options.retryDelay = .milliseconds(1) ... .milliseconds(2)
        return options
    }

    private func entry(_ serial: UInt64) -> TextEntry {
        TextEntry(serial: serial, change: .compacted(epoch: serial))
    }

    @Test func sendsEntriesAndReportsGaps() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        client.connect()
        try await broker.waitForConnections()
        let source = try TextBackend(broker).source(client)
        var news = EventReader(source)
        client.subscribe("collabo")
        #expect(await news.next() == .connected)
        try broker.tell(entry(1))
        // A malformed entry is fetched like a missed one; events of other names are skipped.
        try broker.trigger("text_operations", on: ["collabo"], text: "hello")
        try broker.trigger("another", on: ["collabo"], text: "{}")
        try broker.tell(entry(2))
        #expect(await news.next() == .entry(entry(1)))
        #expect(await news.next() == .gap)
        #expect(await news.next() == .entry(entry(2)))
        broker.cut()
        guard case .disconnected(let reason)? = await news.next() else {
            Issue.record("it tells nothing of a lost connection")
            return
        }
        #expect(!reason.isEmpty)
        try await broker.advance(by: .seconds(60))
        #expect(await news.next() == .resumed)
        try broker.tell(entry(3))
        #expect(await news.next() == .entry(entry(3)))
        client.disconnect()
        #expect(await news.next() == .disconnected(reason: "the client is disconnected"))
        client.connect()
        #expect(await news.next() == .resumed)
        try broker.tell(entry(4))
        #expect(await news.next() == .entry(entry(4)))
        client.disconnect()
    }

    @Test func sendsConnectedWhenAlreadySubscribed() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        client.subscribe("collabo")
        client.connect()
        try await broker.waitForSubscribers(to: "collabo")
        try await client.channel("collabo").waitUntilSubscribed()
        var news = try TextBackend(broker).source(client).news().makeAsyncIterator()
        #expect(await news.next() == .connected)
        client.disconnect()
    }

    @Test func forwardsRequestsAndTheirResults() async throws {
        let broker = ScriptedBroker()
        let backend = try TextBackend(broker)
        let source = backend.source(broker.client())
        #expect(try await source.snapshot() == .empty)
        #expect(try await source.recovery(after: 0, epoch: 0) == .entries([], serial: 0))
        let stale = TextBatch(
            epoch: 3,
            replica: .random(),
            number: 1,
            operations: [.insert(time: 1, after: nil, text: "a")]
        )
        await #expect(throws: TextRefusal.self) { try await source.send(stale) }
        backend.setReachable(false)
        await #expect(throws: TextBackend.Unreachable.self) { _ = try await source.snapshot() }
        #expect(
            backend.requests.withLock { $0 }
                == ["snapshot", "recovery 0 0", "send", "snapshot"]
        )
    }

    @Test(
        "A text goes live again by itself, with the edits made meanwhile",
        arguments: Interruption.allCases
    )
    fileprivate func goesLiveAgain(_ interruption: Interruption) async throws {
        let broker = ScriptedBroker()
        let backend = try TextBackend(broker)
        let clients = [broker.client(), broker.client()]
        let texts = clients.map { LiveText(from: backend.source($0), options: Self.options) }
        for (client, text) in zip(clients, texts) {
            text.start()
            client.connect()
        }
        try await broker.wait(for: "both texts") { texts.allSatisfy { $0.status == .live } }
        for round in 1...3 {
            interruption.begin(clients[0], texts[0])
            try await broker.wait(for: "the interruption") { texts[0].status != .live }
            try texts[0].replace(0..<0, with: "a")
            try texts[1].replace(0..<0, with: "b")
            try await broker.wait(for: "the other edit") { backend.string.contains("b") }
            interruption.end(clients[0], texts[0])
            try await broker.wait(for: "one text") {
                texts.allSatisfy {
                    $0.string.utf16.count == 2 * round && $0.status == .live && $0.unsent.isEmpty
                }
            }
            #expect(texts[0].string == texts[1].string && texts[0].string == backend.string)
        }
        // Also remote edits arrive, without a request.
        backend.requests.withLock { $0 = [] }
        try texts[1].replace(0..<0, with: "last ")
        try await broker.wait(for: "the last edit") { texts[0].string.hasPrefix("last ") }
        #expect(backend.requests.withLock { $0 } == ["send"])
        for client in clients { client.disconnect() }
    }

    @Test("A reader that is behind gets a gap instead of more than 256 events")
    func limitsUnreadEvents() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        let source = try TextBackend(broker).source(client)
        var news = source.news().makeAsyncIterator()
        client.connect()
        // Ahead of it, the client may be said to be disconnected.
        while let event = await news.next(), event != .connected {}
        for serial in 1...2_000 { try broker.tell(entry(UInt64(serial))) }
        try await broker.settle()
        var seen: [TextSourceEvent] = []
        while let event = await news.next() {
            seen.append(event)
            if event == .entry(entry(2_000)) { break }
        }
        #expect(seen.count <= 256 + 1)
        #expect(seen.contains(.gap))
        client.disconnect()
    }

    @Test("A subscription that is refused at once is reported")
    func reportsImmediateRefusal() async throws {
        let broker = ScriptedBroker()
        let client = broker.client { $0.authorization.channels = nil }
        client.connect()
        try await client.waitUntilConnected()
        // Private, and the client has no authorizer.
        let source = ChannelTextSource(
            channel: client.channel("private-text"),
            snapshot: { .empty },
            recovery: { _, _ in .entries([], serial: 0) },
            send: { _ in }
        )
        var news = source.news().makeAsyncIterator()
        guard case .disconnected(let reason)? = await news.next() else {
            Issue.record("the refusal is not reported")
            return
        }
        #expect(reason.contains("private-text"))
        client.disconnect()
    }

    @Test("A text survives cuts without a request, and loads what a gap has left out")
    func resumes() async throws {
        let broker = ScriptedBroker()
        let backend = try TextBackend(broker)
        let clients = [broker.client(), broker.client()]
        let texts = clients.map { LiveText(from: backend.source($0), options: Self.options) }
        for (client, text) in zip(clients, texts) {
            text.start()
            client.connect()
        }
        try await broker.wait(for: "both texts") { texts.allSatisfy { $0.status == .live } }
        backend.requests.withLock { $0 = [] }
        for round in 1...20 {
            try broker.cut(#require(clients[0].socketID))
            try await broker.wait(for: "the cut") { texts[0].status != .live }
            try texts[1].replace(0..<0, with: "b")
            try await broker.wait(for: "the other edit") {
                backend.string.utf16.count == round && texts[1].unsent.isEmpty
            }
            try await broker.advance(by: .seconds(31))
            try await broker.wait(for: "one text") {
                texts[0].status == .live && texts[0].string == backend.string
            }
        }
        #expect(backend.requests.withLock { $0 } == Array(repeating: "send", count: 20))
        backend.requests.withLock { $0 = [] }
        broker.restart(keepingHistory: false)
        try await broker.advance(by: .seconds(31))
        try await broker.wait(for: "the missed entries") {
            backend.requests.withLock { $0.count } == 2
                && texts.allSatisfy { $0.status == .live && $0.string == backend.string }
        }
        #expect(backend.requests.withLock { $0.allSatisfy { $0.hasPrefix("recovery") } })
        for client in clients { client.disconnect() }
    }

    @Test("The last report about the connection is the current one")
    func ordersReports() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        var news = try TextBackend(broker).source(client).news().makeAsyncIterator()
        client.connect()
        for serial in 1...20 {
            try await broker.waitForSubscribers(to: "collabo")
            try await client.channel("collabo").waitUntilSubscribed()
            try broker.tell(entry(UInt64(serial)))
            var last: TextSourceEvent?
            while let event = await news.next(), event != .entry(entry(UInt64(serial))) {
                last = event
            }
            // A late report of the loss is followed by another of the connection.
            while last != .connected, last != .resumed { last = await news.next() }
            client.disconnect()
            client.connect()
        }
        client.disconnect()
    }

    @Test("A stopped text says so")
    func reportsTheStop() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        let text = LiveText(from: try TextBackend(broker).source(client), options: Self.options)
        text.start()
        client.connect()
        try await broker.wait(for: "the text") { text.status == .live }
        text.stop()
        #expect(text.status == .offline(reason: "the text is stopped: start() connects it again"))
        client.disconnect()
    }

    @Test("A refused subscription is tried again, after a delay that grows")
    func retriesTheSubscription() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        broker.refuseSubscriptions(to: "collabo")
        let refusals = Mutex(0)
        let token = client.onError { _ in refusals.withLock { $0 += 1 } }
        let text = LiveText(from: try TextBackend(broker).source(client), options: Self.options)
        text.start()
        client.connect()
        try await broker.wait(for: "the refusal") { text.status.isOffline }
        #expect(text.status.reason?.contains("refuses this subscription") == true)
        for count in [1, 2] {
            try await broker.wait(for: "refusal \(count)") { refusals.withLock { $0 } >= count }
            try await broker.settle()
            #expect(refusals.withLock { $0 } == count)
            try await broker.advance(by: .seconds(1 << (count - 1)))
        }
        broker.acceptSubscriptions(to: "collabo")
        while text.status != .live {
            try await broker.advance(by: .seconds(1))
            try await Task.sleep(for: .milliseconds(1))
        }
        token.cancel()
        client.disconnect()
    }

    @Test("Two users' texts converge, also after a lost connection")
    func keepsTextsTheSame() async throws {
        let broker = ScriptedBroker()
        let backend = try TextBackend(broker)
        let clients = [broker.client(), broker.client()]
        let texts = clients.map { client in
            client.subscribe("collabo")
            client.connect()
            return LiveText(from: backend.source(client), options: Self.options)
        }
        for text in texts { text.start() }
        try await broker.wait(for: "both texts") { texts.allSatisfy { $0.status == .live } }
        try texts[0].replace(0..<0, with: "Hello")
        try await broker.wait(for: "the greeting") { texts[1].string == "Hello" }
        broker.cut()
        try await broker.wait(for: "the loss") { texts.allSatisfy { $0.status != .live } }
        try texts[0].replace(5..<5, with: ", Ben")
        try texts[1].replace(0..<0, with: "> ")
        try await broker.advance(by: .seconds(60))
        try await broker.wait(for: "one text") {
            texts.allSatisfy { $0.string == "> Hello, Ben" && $0.status == .live }
        }
        #expect(backend.string == "> Hello, Ben")
        for client in clients { client.disconnect() }
    }
}

extension LiveText.Status {
    fileprivate var reason: String? {
        if case .offline(let reason) = self { reason } else { nil }
    }

    fileprivate var isOffline: Bool { reason != nil }
}
