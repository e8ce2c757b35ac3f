import Broker
import Primitives

/// The frames that were read last.
///
/// Clients that have missed the same messages share them in memory, like those kept in memory. The budgets of queues
/// count a shared frame once.
struct RecentFrames {
    private struct Place: Hashable {
        let row: Int64
        let serial: UInt64
    }

    /// The maximum size of the frames, in bytes.
    private static var byteCountMax: Int { 8 << 20 }

    private var frames: [Place: [UInt8]] = [:]
    /// The places, by the time of their first read.
    private var line = Queue<Place>()
    private var byteCount = 0

    /// Replaces the frames of a page by equal ones that were read before, and stores the others.
    mutating func share(_ page: inout ArchivePage, of row: Int64) {
        for index in page.messages.indices {
            let frame = page.messages[index].frame
            let place = Place(row: row, serial: page.messages[index].serial)
            if let known = frames[place] {
                if known.span.order(against: frame.span) == 0 { page.messages[index].frame = known }
            } else {
                frames[place] = frame
                line.append(place)
                byteCount += frame.count
            }
        }
        while byteCount > Self.byteCountMax, let oldest = line.first {
            line.removeFirst()
            byteCount -= frames.removeValue(forKey: oldest)?.count ?? 0
        }
    }

    /// Releases all frames.
    mutating func removeAll() { if !line.isEmpty { self = RecentFrames() } }
}
