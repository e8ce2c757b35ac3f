package import GRDB

/// Notices what other processes write to the database file, and tells those who observe it.
///
/// SQLite tells nobody of another process's commit. It counts them, and the count is looked at every half a second.
package final class OtherWriters: Sendable {
    private let watch: Task<Void, Never>

    /// Takes the count, and looks at it until this object is gone: all that is written from now on is noticed.
    ///
    /// - Parameters:
    ///   - database: The database; one in memory has no other writers.
    ///   - pause: How long to wait between two looks.
    /// - Throws: The database's error, if the count cannot be read.
    package init(_ database: DatabaseQueue, pause: Duration = .milliseconds(500)) throws {
        let first = try database.read(Self.count)
        watch = Task(priority: .utility) {
            var told = first
            while (try? await Task.sleep(for: pause)) != nil {
                guard let count = try? await database.read(Self.count), count != told else {
                    continue
                }
                do {
                    try await database.write { database in
                        // They may have changed the tables themselves.
                        database.clearSchemaCache()
                        try database.notifyChanges(in: .fullDatabase)
                    }
                    told = count
                } catch {
                    // Somebody is writing: it is told at the next look.
                }
            }
        }
    }

    deinit { watch.cancel() }

    /// SQLite, PRAGMA data_version: changed by the commits of other connections only.
    @Sendable private static func count(_ database: Database) throws -> Int64? {
        try Int64.fetchOne(database, sql: "PRAGMA data_version")
    }
}
