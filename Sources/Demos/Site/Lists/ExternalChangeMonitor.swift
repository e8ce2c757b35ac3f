package import GRDB

/// Detects commits of other processes to the database file and notifies the observers.
///
/// SQLite does not report commits of other processes, but counts them; the count is polled every half second.
package final class ExternalChangeMonitor: Sendable {
    private let watch: Task<Void, Never>

    /// Starts to poll, until the object is released; every commit from now on is detected.
    package init(_ database: DatabaseQueue, pause: Duration = .milliseconds(500)) throws {
        let first = try database.read(Self.count)
        watch = Task(priority: .utility) {
            var notified = first
            while (try? await Task.sleep(for: pause)) != nil {
                guard let count = try? await database.read(Self.count), count != notified else {
                    continue
                }
                do {
                    try await database.write { database in
                        // The schema may have changed too.
                        database.clearSchemaCache()
                        try database.notifyChanges(in: .fullDatabase)
                    }
                    notified = count
                } catch {
                    // The database is locked: observers are notified at the next poll.
                }
            }
        }
    }

    deinit { watch.cancel() }

    /// Returns SQLite's `PRAGMA data_version`, which only the commits of other connections change.
    @Sendable private static func count(_ database: Database) throws -> Int64? {
        try Int64.fetchOne(database, sql: "PRAGMA data_version")
    }
}
