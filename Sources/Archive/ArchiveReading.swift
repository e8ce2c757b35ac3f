package import Broker
internal import CSQLite
internal import Primitives
internal import PusherProtocol
internal import SQLite

/// Reading messages, with checks that none is damaged or missing.
extension ArchiveFile {
    /// The number of damaged places after which a read is abandoned.
    private static var cutsMax: Int { 4 }

    /// Reads messages.
    ///
    /// The messages up to a damaged or missing one are deleted. Clients that need them are notified of a gap, and the
    /// rest is complete.
    package func messages(_ query: ArchiveQuery) throws -> ArchivePage {
        for _ in 0..<Self.cutsMax {
            let (page, damaged) = try read(query)
            guard let damaged else { return page }
            addDamage(of: try channel(of: query.row))
            try cut(query.row, upTo: damaged)
        }
        throw SQLiteError(code: SQLITE_CORRUPT, message: "damaged messages", sql: nil)
    }

    private func channel(of row: Int64) throws(SQLiteError) -> String {
        var name = "stream \(row)"
        try connection.forEachRow("SELECT channel FROM streams WHERE id = ?", [.integer(row)]) {
            row throws(SQLiteError) in
            name = row.text(at: 0) ?? name
        }
        return name
    }

    /// Reads a page, and finds the newest damaged or missing message before an intact part of it.
    private func read(_ query: ArchiveQuery) throws -> (ArchivePage, damaged: Int64?) {
        let page = query.page
        var found = ArchivePage()
        // The serials before `before`; none for 0.
        let first = Int64(min(page.after ?? 0, ChannelPosition.serialMax)) + 1
        let last = Int64(min(page.before ?? .max, ChannelPosition.serialMax + 1)) - 1
        var damaged: Int64?
        var expected: Int64?
        var byteCount = 0
        let statement = page.isNewestFirst ? statements.newest : statements.oldest
        let isFiltered = page.since != nil || page.until != nil
        try statement.forEachRow([
            .integer(query.row), .integer(first), .integer(last),
            .integer(page.since.map { $0.addingClamped(skew) } ?? .min),
            .integer(page.until.map { $0.addingClamped(skew) } ?? .max),
            .integer(Int64(page.limit) + 1),
        ]) { row throws(SQLiteError) in
            guard !found.hasMore, damaged == nil else { return }
            let serial = row.integer(at: 0) ?? 0
            guard var message = StoredMessage(row, serialAt: 0),
                row.integer(at: 4) == RowChecksum.message(row: query.row, message)
            else {
                damaged = serial
                return
            }
            if !isFiltered, let expected, serial != expected {
                damaged = page.isNewestFirst ? expected : serial - 1
                return
            }
            expected = page.isNewestFirst ? serial - 1 : serial + 1
            byteCount += message.envelope.byteCount
            guard found.messages.count < page.limit,
                found.messages.isEmpty || byteCount <= query.bytesMax
            else {
                found.hasMore = true
                return
            }
            message.time &-= skew
            found.messages.append(message)
        }
        if damaged == nil, first <= last {
            var range = (low: first, high: last)
            let ends = [found.messages.first, found.messages.last].compactMap { $0?.serial }
            if let low = ends.min(), let high = ends.max() { range = (Int64(low), Int64(high)) }
            if !found.messages.isEmpty || !isFiltered {
                damaged = try hole(in: query.row, range, isEmpty: found.messages.isEmpty)
            }
        }
        try statements.first.forEachRow([.integer(query.row)]) { row throws(SQLiteError) in
            found.oldest = UInt64(safe: row.integer(at: 0) ?? 0) ?? 0
        }
        return (found, damaged)
    }

    /// Finds the newest message that is missing within a range or next to it.
    ///
    /// The kept messages of a stream have no gaps and end with the last serial, unless all of them are missing.
    ///
    /// `range` are the serials that were found, or searched for, and `isEmpty` is whether none was found.
    private func hole(
        in row: Int64,
        _ range: (low: Int64, high: Int64),
        isEmpty: Bool
    ) throws(SQLiteError) -> Int64? {
        var (count, before, after, end) = (Int64(0), Int64?.none, Int64?.none, Int64(0))
        try statements.neighbours.forEachRow([
            .integer(row), .integer(range.low), .integer(range.high),
        ]) { row throws(SQLiteError) in
            count = row.integer(at: 0) ?? 0
            (before, after) = (row.integer(at: 1), row.integer(at: 2))
            end = row.integer(at: 3) ?? 0
        }
        if let after, isEmpty ? before != nil : after != range.high + 1 { return after - 1 }
        let last = isEmpty ? before : range.high
        if after == nil, let last, last < end { return min(end, SafeInteger.max) }
        if !isEmpty, count != range.high - range.low + 1 { return range.high - 1 }
        if !isEmpty, let before, before != range.low - 1 { return range.low - 1 }
        return nil
    }

    /// Deletes the messages of a stream up to a serial.
    private func cut(_ row: Int64, upTo serial: Int64) throws {
        try connection.transaction {
            try connection.execute(
                "DELETE FROM messages WHERE stream = ? AND serial <= ?",
                [.integer(row), .integer(serial)]
            )
            try connection.execute(
                """
                UPDATE streams SET (oldest, oldest_ms, bytes) =
                    (SELECT COALESCE(MIN(serial), streams.last + 1), MIN(time_ms), COALESCE(SUM(LENGTH(text)), 0)
                    FROM messages WHERE stream = ?1) WHERE id = ?1
                """,
                [.integer(row)]
            )
            try connection.execute(
                "UPDATE streams SET expiry_ms = oldest_ms + age_ms WHERE id = ?",
                [.integer(row)]
            )
        }
    }
}

extension Int64 {
    /// The sum, or the nearest number that can be represented.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? (other < 0 ? .min : .max) : sum
    }
}
