package import Broker
import PusherProtocol
import Synchronization

/// Records what happens as JSON, in batches of a bounded length: for the console, and for `fanfare trace`.
///
/// Each batch holds the first ``countMax`` events, and the number of those that it left out.
package final class EventRecords: Sendable {
    /// The maximum length of an event's data that is shown, in characters.
    static let dataLengthMax = 1_024
    /// The kinds of an app's events that are recorded.
    package static let kinds: BrokerEventKinds = [
        .connections, .admissions, .signIns, .occupancy, .subscriptions, .members, .published,
        .userEvents, .clientEvents, .refusals,
    ]

    /// The maximum number of records in a batch.
    let countMax: Int
    /// Whether the data of events is shown.
    package let showsData: Bool
    /// The number of events since the last batch, of which at most ``countMax`` are in it.
    private let count = Atomic(0)
    private let records = Mutex<[[UInt8]]>([])

    /// Creates an empty batch.
    package init(countMax: Int, showsData: Bool) {
        self.countMax = countMax
        self.showsData = showsData
    }

    /// Adds an event to the batch, unless it is full; then it is not even written.
    package func add(_ event: BrokerEvent, of app: AppID?) {
        if case .connected = event { return }
        let place = count.add(1, ordering: .relaxed).newValue
        guard place <= countMax else { return }
        var record = EventRecord(of: app)
        guard record.write(event, showsData: showsData) else { return }
        let bytes = record.finish()
        records.withLock { records in
            // Between two counts a full batch may have been taken.
            guard records.count < countMax else { return }
            records.append(bytes)
        }
    }

    /// Returns what has happened since the last call as JSON, `{"records":[…],"omitted":0}`; `nil` for nothing.
    package func takeBatch() -> [UInt8]? {
        let records = records.withLock { records in
            defer { records.removeAll(keepingCapacity: true) }
            return records
        }
        let omitted = max(0, count.exchange(0, ordering: .relaxed) - countMax)
        guard !records.isEmpty || omitted > 0 else { return nil }
        return Self.batch(of: records, omitted: omitted)
    }

    /// A batch without events.
    static var emptyBatch: [UInt8] { batch(of: [], omitted: 0) }

    private static func batch(of records: [[UInt8]], omitted: Int) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("records")
        writer.beginArray()
        for record in records { writer.verbatim(record) }
        writer.endArray()
        writer.name("omitted")
        writer.integer(omitted)
        writer.endObject()
        return writer.bytes
    }
}
