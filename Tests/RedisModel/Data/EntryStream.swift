/// A stream of Redis whose entries have the one field `d`.
package struct EntryStream: Sendable {
    /// The ID of an entry.
    package struct ID: Hashable, Comparable, Sendable, CustomStringConvertible {
        package var stream: UInt64
        package var serial: UInt64

        package init(_ stream: UInt64, _ serial: UInt64) {
            (self.stream, self.serial) = (stream, serial)
        }

        /// Parses `STREAM-SERIAL`, or `STREAM` with the serial that stands for none; nil for another form.
        package init?(_ text: ByteString, serial: UInt64 = 0) {
            let parts = text.parts(2, by: "-")
            guard let stream = UInt64(parts[0].description) else { return nil }
            guard parts.count == 2 else {
                self.init(stream, serial)
                return
            }
            guard let serial = UInt64(parts[1].description) else { return nil }
            self.init(stream, serial)
        }

        package var description: String { "\(stream)-\(serial)" }

        package static func < (left: ID, right: ID) -> Bool {
            (left.stream, left.serial) < (right.stream, right.serial)
        }
    }

    package struct Entry: Sendable {
        package let id: ID
        package let text: ByteString
    }

    /// What is kept, in the order of the IDs.
    package private(set) var entries: [Entry] = []
    /// The newest ID ever, also of an entry that was removed.
    package private(set) var lastID = ID(0, 0)

    /// Makes an empty stream behind an ID.
    package init(lastID: ID = ID(0, 0)) { self.lastID = lastID }

    package var count: Int { entries.count }

    /// Appends an entry with the next serial of a stream (`XADD key STREAM-*`).
    ///
    /// - Returns: Its ID; nil if a newer stream has begun, or the serials have run out.
    mutating func append(in stream: UInt64, _ text: ByteString) -> ID? {
        guard stream == lastID.stream else { return append(at: ID(stream, 0), text) }
        guard lastID.serial < .max else { return nil }
        return append(at: ID(stream, lastID.serial + 1), text)
    }

    /// Appends an entry with an ID of its own (`XADD key *`).
    mutating func append(at time: Int64, _ text: ByteString) -> ID? {
        append(in: max(UInt64(time), lastID.stream), text)
    }

    /// Appends an entry with this ID (`XADD key ID`).
    ///
    /// - Returns: The ID; nil if it is not greater than all others.
    mutating func append(at id: ID, _ text: ByteString) -> ID? {
        guard id > lastID else { return nil }
        lastID = id
        entries.append(Entry(id: id, text: text))
        return id
    }

    /// Sets the newest ID (`XSETID`), which is not less than that of any entry.
    mutating func setLastID(_ id: ID) { lastID = id }

    /// Removes the oldest entries beyond a number; returns how many.
    mutating func trim(to countMax: Int) -> Int {
        let removed = max(entries.count - countMax, 0)
        entries.removeFirst(removed)
        return removed
    }

    /// Removes an entry; returns whether there was one.
    mutating func remove(_ id: ID) -> Bool {
        let index = firstIndex(from: id)
        guard index < entries.count, entries[index].id == id else { return false }
        entries.remove(at: index)
        return true
    }

    /// The entries from one ID to another, both included.
    package func entries(from first: ID, to last: ID) -> ArraySlice<Entry> {
        guard first <= last else { return [] }
        var end = firstIndex(from: last)
        if end < entries.count, entries[end].id == last { end += 1 }
        return entries[firstIndex(from: first)..<end]
    }

    private func firstIndex(from id: ID) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
