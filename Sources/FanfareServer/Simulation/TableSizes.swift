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
    /// Notes the sizes of this shard's tables.
    func count(in tableSizes: inout TableSizes) {
        tableSizes.note("connections", connectionCount)
        tableSizes.note("channels", channels.count)
        tableSizes.note("users signed in here", users.count)
        tableSizes.note("users at home", users.homeCount)
        tableSizes.note("connections on probation", probation.count)
        tableSizes.note("incomplete messages", incompleteMessages.count)
        tableSizes.note("open scatterGather", inquiryCount)
        tableSizes.note("triggers not answered", pendingTriggerCount)
        tableSizes.note("backlogs", backlogs.count)
        tableSizes.note("inbound bytes", reactor.inbound.byteCount)
        tableSizes.note("open lists", listings.count)
        tableSizes.note("connections that leave channels", leaves.count)
        tableSizes.note("orphanedConnections", orphanedConnectionCount)
        tableSizes.note("cached events", cachedEvents.isAtRest ? 0 : 1)
        tableSizes.note("counts to be told", countPace.isAtRest ? 0 : 1)
        tableSizes.note("streams", reactor.streamCount)
        tableSizes.note("timers", reactor.timerCount)
    }
}
