import FanfareClient
import FanfareTesting
import Foundation
import LiveCollections
import Synchronization
import Testing

/// A backend that orders the edits of one broker's clients and publishes them.
private final class TextBackend: Sendable {
    private let authority: Mutex<TextAuthority>
    private let broker: ScriptedBroker
    private let isReachable = Mutex(true)
    /// The number of requests of each kind.
    let requests = Mutex<[String]>([])

    struct Unreachable: Error {}

    init(_ broker: ScriptedBroker) throws {
        self.broker = broker
        authority = Mutex(try TextAuthority(replica: .random()))
    }

    var string: String { authority.withLock { $0.document.string } }

    private func note(_ request: String) throws {
        requests.withLock { $0.append(request) }
        guard isReachable.withLock({ $0 }) else { throw Unreachable() }
    }

    func setReachable(_ value: Bool) { isReachable.withLock { $0 = value } }

    func source(_ client: FanfareClient) -> ChannelTextSource {
        ChannelTextSource(
            channel: client.channel("collabo"),
            snapshot: {
                try self.note("snapshot")
                return self.authority.withLock { $0.snapshot }
            },
            recovery: { serial, epoch in
                try self.note("recovery \(serial) \(epoch)")
                return self.authority.withLock { $0.recovery(after: serial, epoch: epoch) }
            },
            send: { batch in
                try self.note("send")
                let entries = try self.authority.withLock {
                    (authority) throws(TextRefusal) in try authority.commit(batch)
                }
                for entry in entries { try self.broker.tell(entry) }
            }
        )
    }
}

extension ScriptedBroker {
    fileprivate func tell(_ entry: TextEntry) throws {
        let json = String(decoding: try JSONEncoder().encode(entry), as: UTF8.self)
        try trigger(ChannelTextSource.event.text, on: ["collabo"], text: json)
    }
}

/// Reads the events of a source.
private struct EventReader {
    private var news: AsyncStream<TextSourceEvent>.Iterator
    private var last: TextSourceEvent?

    init(_ source: ChannelTextSource) { news = source.news().makeAsyncIterator() }

    /// Returns the next event; repeated `connected` events count as one.
    mutating func next() async -> TextSourceEvent? {
        repeat {
            let next = await news.next()
            defer { last = next }
            if next != .connected || last != .connected { return next }
        } while true
    }
}

@Suite("A text over a channel", .timeLimit(.minutes(1))) @MainActor
struct ChannelTextSourceTests {
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
        // Malformed entries, and events of other names, are skipped.
        try broker.trigger("text_operations", on: ["collabo"], text: "hello")
        try broker.trigger("another", on: ["collabo"], text: "{}")
        try broker.tell(entry(2))
        #expect(await news.next() == .entry(entry(1)))
        #expect(await news.next() == .entry(entry(2)))
        broker.cut()
        guard case .disconnected(let reason)? = await news.next() else {
            Issue.record("it tells nothing of a lost connection")
            return
        }
        #expect(!reason.isEmpty)
        try await broker.advance(by: .seconds(60))
        #expect(await news.next() == .connected)
        try broker.tell(entry(3))
        #expect(await news.next() == .entry(entry(3)))
        client.disconnect()
        #expect(await news.next() == .disconnected(reason: "the client is disconnected"))
        #expect(await news.next() == nil)
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

    @Test("Two users' texts converge, also after a lost connection")
    func keepsTextsTheSame() async throws {
        let broker = ScriptedBroker()
        let backend = try TextBackend(broker)
        var options = LiveText.Options()
        options.sendingDelay = .zero
        options.retryDelay = .milliseconds(1) ... .milliseconds(2)
        let clients = [broker.client(), broker.client()]
        let texts = clients.map { client in
            client.subscribe("collabo")
            client.connect()
            return LiveText(from: backend.source(client), options: options)
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
