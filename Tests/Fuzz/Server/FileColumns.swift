import FuzzTargets
import Glibc

/// A column of the file of stored channels or of a spool.
struct FileColumns {
    let table: String
    /// What names a row.
    let key: String
    let column: String

    /// All columns.
    static let all: [FileColumns] = [
        (
            "streams", "id",
            columns(
                "id app channel stream life oldest last oldest_ms expiry_ms bytes messages_max bytes_max age_ms",
                "crc end_crc"
            )
        ),
        ("messages", "stream, serial", columns("stream serial time_ms except_socket text crc")),
        ("keys", "stream, key", columns("stream key serial digest expiry_ms crc")),
        ("sessions", "app, key", columns("app key parked_ms record crc")),
        ("session_bounds", "app", columns("app before_ms crc")),
        (
            "life", "rowid",
            columns(
                "life boot_id is_closed is_synced last next_stream has_all_sessions token crc sessions_crc",
                "calendar_ms uptime_ms"
            )
        ),
        ("seeds", "bucket", columns("bucket seed")), ("forgotten", "stream", ["stream"]),
    ].flatMap { table, key, columns in
        columns.map { FileColumns(table: table, key: key, column: $0) }
    }

    private static func columns(_ names: String...) -> [String] {
        names.flatMap { $0.split(separator: " ").map(String.init) }
    }

    /// The statement that makes a change, whose value is its argument.
    func statement(_ edit: FuzzedFile.Edit) -> String {
        // A file has none, in general.
        if table == "forgotten" { return "INSERT OR IGNORE INTO forgotten VALUES (?)" }
        if edit.row == 253 {
            return
                "DELETE FROM \(table) WHERE (\(key)) IN (SELECT \(key) FROM \(table) LIMIT 1) AND ?1 IS ?1"
        }
        let value = edit.isText ? "CAST(? AS TEXT)" : "?"
        let rows =
            edit.row >= 254
            ? "" : " WHERE (\(key)) IN (SELECT \(key) FROM \(table) LIMIT 1 OFFSET \(edit.row % 8))"
        return "UPDATE OR REPLACE \(table) SET \(column) = \(value)\(rows)"
    }

    /// The statements that make the tables those of the second version, which had no checksums.
    static let downgrade: [String] = {
        let tables = ["messages", "keys", "streams", "sessions", "session_bounds", "life"]
        let added =
            tables.map { ($0, "crc") }
            + [
                ("streams", "end_crc"), ("life", "token"), ("life", "sessions_crc"),
                ("life", "calendar_ms"), ("life", "uptime_ms"),
            ]
        return ["DROP INDEX excessive_streams", "DROP TABLE seeds"]
            + added.map { "ALTER TABLE \($0) DROP COLUMN \($1)" }
            + [
                "ALTER TABLE messages RENAME COLUMN text TO frame",
                "CREATE INDEX excessive ON streams (id)", "PRAGMA user_version = 2",
            ]
    }()
}

/// A folder with a unique path, which is removed at the end; in memory where the machine has such a place.
final class FileFolder {
    let path: String

    init() throws(Finding) {
        let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(parent)/fanfare-fuzz-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw Finding(description: "no folder in \(parent): \(errno)")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        removeAll()
        for name in ["spool", "spool.taken", "spool.unfinished"] { remove("\(path)/\(name)") }
        rmdir(path)
    }

    /// Removes the file of stored channels, and what belongs to it.
    func removeAll() {
        for suffix in ["", "-wal", "-shm", "-journal", "-mark"] {
            remove("\(path)/history.sqlite\(suffix)")
        }
    }

    func remove(_ path: String) { _ = unlink(path) }

    func read(_ path: String) throws(Finding) -> [UInt8] {
        guard let stream = fopen(path, "r") else {
            throw Finding(description: "\(path) cannot be read")
        }
        defer { fclose(stream) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, stream))
        return bytes
    }

    func write(_ bytes: [UInt8], to path: String) throws(Finding) {
        guard let stream = fopen(path, "w") else {
            throw Finding(description: "\(path) cannot be written")
        }
        defer { fclose(stream) }
        guard fwrite(bytes, 1, bytes.count, stream) == bytes.count else {
            throw Finding(description: "\(path) cannot be written")
        }
    }
}
