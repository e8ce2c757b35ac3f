import DemoSite
import LiveCollections

/// The one writer of the text: orders what all do, stores it, and then tells of it.
actor SharedText {
    /// Where everybody is told; old clients listen there too.
    static let channel = "collabo"
    /// What old clients are told.
    static let oldEvent = "text_update"
    /// How the backend calls itself to old clients, which ignore what their own device did.
    static let deviceID = "fanfare-demos"
    /// How often old clients are told at most: each time it is the whole text.
    static let oldEventPause = Duration.milliseconds(150)
    /// The most bytes of an event's data; a longer text cannot be told to old clients.
    static let eventLengthMax = 10_000

    private let store: TextStore
    private let outbox: Outbox
    private let clock = ContinuousClock()
    private let start = ContinuousClock.now
    private var authority: TextAuthority
    private var isOldEventDue = false

    /// Takes the text up where it was left.
    init(store: TextStore, outbox: Outbox) throws {
        self.store = store
        self.outbox = outbox
        let (snapshot, entries) = try store.load()
        authority = try TextAuthority(replica: .random(), from: snapshot, log: entries)
    }

    var snapshot: TextSnapshot { authority.snapshot }

    func recovery(after serial: UInt64, epoch: UInt64) -> TextRecovery {
        authority.recovery(after: serial, epoch: epoch)
    }

    /// Takes what a replica did.
    ///
    /// - Returns: How far the log has come.
    func take(_ batch: TextBatch) throws -> UInt64 {
        try change { (authority) throws(TextRefusal) in try authority.commit(batch) }
        return authority.serial
    }

    /// Takes the whole text of an old client.
    func take(_ text: String, from device: String) throws {
        let now = clock.now - start
        try change { (authority) throws(TextRefusal) in
            try authority.takeWholeText(text, from: device, at: now)
        }
        // Whatever came of it, the device is to show what everybody has.
        tellOldClientsSoon()
    }

    // None of these steps suspends: between a change and its announcement no other can slip in.

    private func change(
        _ body: (inout TextAuthority) throws(TextRefusal) -> [TextEntry]
    ) throws {
        // What cannot be stored has not happened.
        var next = authority
        let entries = try body(&next)
        guard !entries.isEmpty else {
            authority = next
            return
        }
        try store.append(entries)
        authority = next
        for entry in entries { announce(entry) }
        if authority.isCompactionDue { try beginEpoch() }
        tellOldClientsSoon()
    }

    private func beginEpoch() throws {
        var next = authority
        let entry = next.compact()
        try store.replace(with: next.snapshot)
        authority = next
        announce(entry)
    }

    private func announce(_ entry: TextEntry) {
        guard let data = try? JSONText.encode(entry) else { return }
        // An entry that comes twice is known by its serial.
        outbox.post(
            Announcement("text_operations", on: Self.channel, data: data, isRepeatable: true)
        )
    }

    private func tellOldClientsSoon() {
        guard !isOldEventDue else { return }
        isOldEventDue = true
        Task {
            try? await Task.sleep(for: Self.oldEventPause)
            tellOldClients()
        }
    }

    private struct WholeText: Encodable {
        let text: String
        let deviceId: String
    }

    private func tellOldClients() {
        isOldEventDue = false
        let now = clock.now - start
        guard let update = authority.wholeTextUpdate(by: Self.deviceID, at: now),
            let data = try? JSONText.encode(
                WholeText(text: update.text, deviceId: update.device)
            ),
            data.utf8.count <= Self.eventLengthMax
        else { return }
        outbox.post(
            Announcement(Self.oldEvent, on: Self.channel, data: data, isRepeatable: true)
        )
    }
}
