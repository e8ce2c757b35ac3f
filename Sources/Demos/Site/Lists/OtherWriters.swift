package import GRDB

/// Notices what other processes write to the database file, and tells those who observe it.
///
/// SQLite tells nobody of another process's commit. It counts them, and the count is looked at every half a second.
package final class OtherWriters: Sendable {
    private let watch: Task<Void, Never>

    /// Begins to look, until this object is gone.
    ///
    /// - Parameters:
    ///   - database: The database; one in memory has no other writers.
    ///   - pause: How long to wait between two looks.
    package init(_ database: DatabaseQueue, pause: Duration = .milliseconds(500)) {
        watch = Task(priority: .utility) {
            var seen: Int64?
            while (try? await Task.sleep(for: pause)) != nil {
                let count = try? await database.read {
                    // SQLite, PRAGMA data_version: changed by the commits of other connections only.
                    try Int64.fetchOne($0, sql: "PRAGMA data_version")
                }
                guard let count, count != seen else { continue }
                if seen != nil {
                    try? await database.write { database in
                        // They may have changed the tables themselves.
                        database.clearSchemaCache()
                        try database.notifyChanges(in: .fullDatabase)
                    }
                }
                seen = count
            }
        }
    }

    deinit { watch.cancel() }
}
