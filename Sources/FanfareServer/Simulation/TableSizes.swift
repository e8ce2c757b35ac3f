import Net

/// How much a broker holds, table by table, all shards together: what must be nothing when everybody has gone.
package struct TableSizes: Equatable, CustomStringConvertible {
    private var rows: [(table: String, count: Int)] = []

    /// Notes how much is in a table, beside what other shards have in theirs.
    mutating func note(_ table: String, _ count: Int) {
        if let index = rows.firstIndex(where: { $0.table == table }) {
            rows[index].count += count
        } else {
            rows.append((table, count))
        }
    }

    /// How much is in a table, all shards together.
    package subscript(table: String) -> Int { rows.first { $0.table == table }?.count ?? 0 }

    package static func == (left: TableSizes, right: TableSizes) -> Bool {
        left.rows.elementsEqual(right.rows) { $0 == $1 }
    }

    /// The tables in which something is that was not there before.
    ///
    /// - Parameter before: What was there.
    /// - Returns: The names of the tables, and by how much each has grown.
    package func growth(since before: TableSizes) -> [(table: String, count: Int)] {
        zip(rows, before.rows).compactMap { now, before in
            now.count > before.count ? (now.table, now.count - before.count) : nil
        }
    }

    /// Every table that is not empty.
    package var description: String {
        rows.filter { $0.count != 0 }.map { "\($0.table): \($0.count)" }.joined(separator: ", ")
    }
}

extension ShardCore {
    /// Records the sizes of this shard's tables.
    func count(in sizes: inout TableSizes) {
        sizes.note("connections", connections.count)
        sizes.note("channels", channels.table.count)
        sizes.note("users signed in here", users.signedInCount)
        sizes.note("users at home", users.homeCount)
        sizes.note("unauthorized connections", connections.unauthorizedCount)
        sizes.note("incomplete messages", incompleteMessages.count)
        sizes.note("pending queries", queries.count)
        sizes.note("pending triggers", channels.triggers.count)
        sizes.note("backlogs", channels.backlogs.count)
        sizes.note("inbound bytes", context.reactor.inbound.byteCount)
        sizes.note("open lists", listings.count)
        sizes.note("connections that leave channels", channels.leavingCount)
        sizes.note("orphaned connections", connections.orphanedCount)
        sizes.note("cached events", channels.isCacheAtRest ? 0 : 1)
        sizes.note("counts to be announced", channels.areCountsAtRest ? 0 : 1)
        sizes.note("streams", context.reactor.streamCount)
        sizes.note("timers", context.reactor.timerCount)
    }
}
