internal import Primitives
internal import Broker

/// The envelopes that were read last.
///
/// Clients that have missed the same messages share them in memory, like those kept in memory. The budgets of queues
/// count a shared one once.
struct RecentEnvelopes {
    private struct Place: Hashable {
        let row: Int64
        let serial: UInt64
    }

    /// The maximum size of the envelopes, in bytes.
    private static var byteCountMax: Int { 8 << 20 }

    private var envelopes: [Place: Envelope] = [:]
    /// The places, by the time of their first read.
    private var line = Queue<Place>()
    private var byteCount = 0

    /// Replaces the envelopes of a page by equal ones that were read before, and stores the others.
    mutating func share(_ page: inout ArchivePage, of row: Int64) {
        for index in page.messages.indices {
            let envelope = page.messages[index].envelope
            let place = Place(row: row, serial: page.messages[index].serial)
            if let known = envelopes[place] {
                if known == envelope { page.messages[index].envelope = known }
            } else {
                envelopes[place] = envelope
                line.append(place)
                byteCount += envelope.byteCount
            }
        }
        while byteCount > Self.byteCountMax, let oldest = line.first {
            line.removeFirst()
            byteCount -= envelopes.removeValue(forKey: oldest)?.byteCount ?? 0
        }
    }

    /// Releases all envelopes.
    mutating func removeAll() { if !line.isEmpty { self = RecentEnvelopes() } }
}
