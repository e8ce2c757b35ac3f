internal import Broker
internal import Foundation
internal import GRDB

/// The shape of the file where webhooks wait.
enum WebhookQueueSchema {
    /// Brings a file to the newest shape.
    ///
    /// - Parameter writer: The open file.
    /// - Throws: A `DatabaseError`.
    static func migrate(_ writer: some DatabaseWriter) throws {
        var migrator = DatabaseMigrator()
        // A migration is never changed once it has been released: a new shape is one more of them.
        migrator.registerMigration("deliveries and dead letters") { database in
            try database.execute(
                sql: """
                    CREATE TABLE deliveries (
                        id INTEGER PRIMARY KEY,
                        app TEXT NOT NULL,
                        url TEXT NOT NULL,
                        ordinal INTEGER NOT NULL,
                        time_ms INTEGER NOT NULL,
                        -- Separated by line feeds, which no name of a channel has.
                        channels TEXT NOT NULL,
                        events BLOB NOT NULL
                    );
                    CREATE TABLE dead_letters (
                        id INTEGER PRIMARY KEY,
                        app TEXT NOT NULL,
                        url TEXT NOT NULL,
                        ordinal INTEGER NOT NULL,
                        time_ms INTEGER NOT NULL,
                        channels TEXT NOT NULL,
                        events BLOB NOT NULL,
                        cause TEXT NOT NULL,
                        detail TEXT NOT NULL,
                        attempts INTEGER NOT NULL,
                        death_ms INTEGER NOT NULL,
                        is_replayed INTEGER NOT NULL DEFAULT 0
                    );
                    -- The broker looks for these every few seconds.
                    CREATE INDEX replays ON dead_letters (id) WHERE is_replayed;
                    """
            )
        }
        do {
            try migrator.migrate(writer)
        } catch {
            // Another process that has the file open may have done the same meanwhile.
            guard try writer.read(migrator.hasCompletedMigrations) else { throw error }
        }
    }
}

extension Delivery {
    /// Reads a row of `deliveries`.
    init(_ row: Row) {
        self.init(
            id: row["id"],
            endpoint: EndpointKey(
                app: AppID(row["app"]),
                url: row["url"],
                ordinal: row["ordinal"]
            ),
            time: row["time_ms"],
            events: Array(row["events"] as Data),
            channels: (row["channels"] as String).split(separator: "\n").map(String.init)
        )
    }

    /// Writes a row of `deliveries`.
    func insert(into database: Database) throws {
        try database.execute(
            sql: "INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                id, endpoint.app.text, endpoint.url, endpoint.ordinal, time,
                channels.joined(separator: "\n"), Data(events),
            ]
        )
    }
}

extension DeadLetter {
    /// Reads a row of `dead_letters`.
    init(_ row: Row) {
        self.init(
            id: row["id"],
            app: AppID(row["app"]),
            url: row["url"],
            ordinal: row["ordinal"],
            time: row["time_ms"],
            channels: (row["channels"] as String).split(separator: "\n").map(String.init),
            // A cause of a later version reads as the one that says least.
            cause: Cause(rawValue: row["cause"]) ?? .exhausted,
            detail: row["detail"],
            attempts: row["attempts"],
            deathTime: row["death_ms"],
            isReplayed: row["is_replayed"],
            events: Array(row["events"] as Data)
        )
    }

    /// Writes a row of `dead_letters`.
    func insert(into database: Database) throws {
        try database.execute(
            sql: "INSERT OR REPLACE INTO dead_letters VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
            arguments: [
                id, app.text, url, ordinal, time, channels.joined(separator: "\n"),
                Data(events), cause.rawValue, detail, attempts, deathTime,
            ]
        )
    }
}
