import Testing

@testable import LiveCollections

@Suite("The buffer of a text's events", .timeLimit(.minutes(1)))
struct TextEventBufferTests {
    private func entry(_ serial: UInt64) -> TextSourceEvent {
        .entry(TextEntry(serial: serial, change: .compacted(epoch: serial)))
    }

    private func read(_ buffer: TextEventBuffer) async -> [TextSourceEvent] {
        buffer.finish()
        var events: [TextSourceEvent] = []
        while let event = await buffer.next() { events.append(event) }
        return events
    }

    @Test("Events are kept in order up to the limit")
    func order() async {
        let buffer = TextEventBuffer(limit: 3)
        for event in [.connected, entry(1), entry(2)] { buffer.send(event) }
        #expect(await read(buffer) == [.connected, entry(1), entry(2)])
    }

    @Test(
        "A full buffer keeps the last report about the connection and a gap",
        arguments: [TextSourceEvent.connected, .disconnected(reason: "cut")]
    )
    func overflow(_ report: TextSourceEvent) async {
        let buffer = TextEventBuffer(limit: 3)
        for event in [.connected, report, entry(1), entry(2)] { buffer.send(event) }
        #expect(await read(buffer) == [report, .gap, entry(2)])
    }

    @Test("Without a report only the gap is kept")
    func overflowOfEntries() async {
        let buffer = TextEventBuffer(limit: 3)
        for serial in 1...9 { buffer.send(entry(UInt64(serial))) }
        #expect(await read(buffer) == [.gap, entry(8), entry(9)])
    }

    @Test("A waiting reader gets the next event, and nil when it is cancelled")
    func waiting() async {
        let buffer = TextEventBuffer()
        let reading = Task { await (buffer.next(), buffer.next()) }
        buffer.send(.connected)
        while !buffer.isEmpty { await Task.yield() }
        reading.cancel()
        #expect(await reading.value == (.connected, nil))
    }
}
