internal import Broker
internal import PusherProtocol
internal import SQLite

/// The seeds of the IDs of streams that are not in the file: see `StreamSeeds`.
extension ArchiveFile {
    /// Gives a new file its seeds.
    static func fillSeeds(_ connection: SQLiteConnection) throws {
        let count = try connection.integer("SELECT COUNT(*) FROM seeds")
        guard count != Int64(StreamSeeds.count) else { return }
        let insert = try connection.prepare("INSERT OR REPLACE INTO seeds VALUES (?, ?)")
        try connection.transaction {
            for bucket in 0..<StreamSeeds.count {
                try insert.run([.integer(Int64(bucket)), .integer(.random(in: .min ... .max))])
            }
        }
    }

    /// Gives all channels that are not in the file other IDs, because former streams may be missing.
    func renewSeeds() throws {
        try connection.execute("DELETE FROM seeds")
        try Self.fillSeeds(connection)
    }

    /// The seeds, for the present life of the file.
    func seeds() throws -> StreamSeeds {
        var values = [UInt64](repeating: 0, count: StreamSeeds.count)
        try connection.forEachRow("SELECT bucket, seed FROM seeds") { row throws(SQLiteError) in
            guard let bucket = row.integer(at: 0).flatMap({ Int(exactly: $0) }),
                values.indices.contains(bucket)
            else { return }
            values[bucket] = UInt64(bitPattern: row.integer(at: 1) ?? 0)
        }
        return StreamSeeds(values, life: life)
    }

    /// Gives the channel of a stream another ID, because the stream is dropped.
    func changeSeed(of row: Int64) throws {
        var address: ChannelAddress?
        try connection.forEachRow(
            "SELECT app, channel FROM streams WHERE id = ?",
            [.integer(row)]
        ) { found throws(SQLiteError) in
            guard let app = found.text(at: 0), let channel = found.text(at: 1),
                let name = try? ChannelName(channel, limits: .stored)
            else { return }
            address = ChannelAddress(app: AppID(app), name: name)
        }
        if let address { try changeSeed(of: address, forgetting: row) }
    }

    /// Gives a channel another ID, because all of its streams but one are dropped.
    func changeSeed(of address: ChannelAddress, exceptFor row: Int64) throws {
        var rows: [Int64] = []
        try connection.forEachRow(
            "SELECT id FROM streams WHERE app = ? AND channel = ? AND id <> ?",
            [.text(address.app.text), .text(address.name.text), .integer(row)]
        ) { found throws(SQLiteError) in rows.append(found.integer(at: 0) ?? 0) }
        for row in rows { try changeSeed(of: address, forgetting: row) }
    }

    private func changeSeed(of address: ChannelAddress, forgetting row: Int64) throws {
        let bucket = SQLiteValue.integer(Int64(StreamSeeds.bucket(of: address)))
        let seed = try connection.integer("SELECT seed FROM seeds WHERE bucket = ?", [bucket]) ?? 0
        let next = UInt64(bitPattern: seed) &+ StreamSeeds.step(row)
        try connection.execute(
            "UPDATE seeds SET seed = ? WHERE bucket = ?",
            [.integer(Int64(bitPattern: next)), bucket]
        )
    }
}
