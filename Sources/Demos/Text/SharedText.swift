import DemoSite
import GRDB
import LiveCollections

/// The single writer of the text: orders the edits, stores them, then publishes them.
actor SharedText {
    /// The channel of all events.
    static let channel = "collabo"
    /// The event with the whole text, for the tutorial's clients.
    static let wholeTextEvent = "text_update"
    /// The backend's device ID in whole-text events; a client ignores events with its own ID.
    static let deviceID = "fanfare-demos"
    /// The minimum interval between two whole-text events.
    static let wholeTextInterval = Duration.milliseconds(150)
    /// The maximum length of an event's data, in bytes; a longer text is not sent to whole-text clients.
    static let eventLengthMax = 10_000

    private let store: TextStore
    private let outbox: Outbox
    private let clock = ContinuousClock()
    private let start = ContinuousClock.now
    private var authority: TextAuthority
    private var isWholeTextDue = false

    /// Restores the stored text.
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

    /// Applies a replica's operations and returns the serial of the last log entry.
    func commit(_ batch: TextBatch) throws -> UInt64 {
        try change { (authority) throws(TextRefusal) in try authority.commit(batch) }
        return authority.serial
    }

    /// Applies the whole text of a client that does not support operations.
    func commit(_ text: String, from device: String) throws {
        let now = clock.now - start
        try change { (authority) throws(TextRefusal) in
            try authority.takeWholeText(text, from: device, at: now)
        }
        // The device must show the merged text, whatever has become of its edit.
        scheduleWholeText()
    }

    // No suspension, so that the authority and the store change together.

    private func change(
        _ body: (inout TextAuthority) throws(TextRefusal) -> [TextEntry]
    ) throws {
        // A change that cannot be stored is discarded.
        var next = authority
        let entries = try body(&next)
        guard !entries.isEmpty else {
            authority = next
            return
        }
        try store.append(entries) { database in
            for entry in entries { try publish(entry, database) }
        }
        authority = next
        if authority.isCompactionDue {
            try beginEpoch()
        } else if authority.isTrimmingDue {
            try trimLog()
        }
        scheduleWholeText()
    }

    private func beginEpoch() throws {
        var next = authority
        let entry = next.compact()
        try store.replace(with: next.snapshot) { try publish(entry, $0) }
        authority = next
    }

    private func trimLog() throws {
        var next = authority
        guard let serial = next.trimLog() else { return }
        try store.trim(through: serial, to: next.snapshot)
        authority = next
    }

    private func publish(_ entry: TextEntry, _ database: Database) throws {
        let data = try JSONText.encode(entry)
        try outbox.post(
            OutgoingEvent("text_operations", on: Self.channel, data: data),
            in: database
        )
    }

    private func scheduleWholeText() {
        guard !isWholeTextDue else { return }
        isWholeTextDue = true
        Task {
            try? await Task.sleep(for: Self.wholeTextInterval)
            publishWholeText()
        }
    }

    private struct WholeText: Encodable {
        let text: String
        let deviceId: String
    }

    private func publishWholeText() {
        isWholeTextDue = false
        let now = clock.now - start
        guard let update = authority.wholeTextUpdate(by: Self.deviceID, at: now),
            let data = try? JSONText.encode(
                WholeText(text: update.text, deviceId: update.device)
            ),
            data.utf8.count <= Self.eventLengthMax
        else { return }
        // The next event has the whole text again.
        try? outbox.post(OutgoingEvent(Self.wholeTextEvent, on: Self.channel, data: data))
    }
}
