internal import CSQLite
internal import Glibc
internal import SQLite
internal import Synchronization

/// Recovery of a file that was deleted, moved or replaced while it was open.
///
/// SQLite continues with the open files without an error. Their content is copied to a file beside the path. From there
/// it is imported into the file that is opened at the path next.
extension WebhookQueue {
    /// The files of a database at a path: the database, the write-ahead log and its index.
    struct Place: Sendable {
        private static let endings = ["", "-wal", "-shm"]

        let path: String
        private let identities: [FileIdentity?]

        init(path: String) {
            self.path = path
            identities = Self.identities(path)
        }

        /// Whether the files at the path are still these.
        var isUnchanged: Bool { Self.identities(path) == identities }

        /// The paths of the log and its index, if these are still at the path and the database is not.
        ///
        /// SQLite removes them when it closes a database that is at its path, and otherwise leaves them. The file
        /// opened at the path next would use them as its own.
        var abandoned: [String] {
            let now = Self.identities(path)
            guard now[0] != identities[0] else { return [] }
            return now.indices.dropFirst().filter { now[$0] != nil && now[$0] == identities[$0] }
                .map { path + Self.endings[$0] }
        }

        private static func identities(_ path: String) -> [FileIdentity?] {
            endings.map { FileIdentity(path: path + $0) }
        }
    }

    /// The path of the copy of a file that is no longer at its path.
    static func rescuePath(of path: String) -> String { path + "-rescued" }

    /// Whether the open files are still at the path.
    var isInPlace: Bool { place.isUnchanged }

    /// Copies all content to the rescue path, replacing an earlier copy.
    ///
    /// - Throws: A ``SQLiteError``, for example of a full disk or a missing folder; then there is no copy.
    func rescue() throws {
        let path = Self.rescuePath(of: place.path)
        let part = path + "-part"
        unlink(part)
        makePrivateFile(at: part)
        do {
            try database.access { try $0.execute("VACUUM INTO ?", [.text(part)]) }
        } catch {
            unlink(part)
            throw error
        }
        guard rename(part, path) == 0 else {
            let reason = String(cString: strerror(errno))
            throw WebhookQueueError.failed("\(path) cannot be written: \(reason)")
        }
    }

    /// Imports the copy at the rescue path, of this run or an earlier one, if there is one, and removes it.
    ///
    /// - Throws: A ``SQLiteError``; then the copy stays.
    func importRescued() throws {
        let path = Self.rescuePath(of: place.path)
        guard FileIdentity(path: path) != nil else { return }
        try database.access { connection in
            try connection.execute("ATTACH DATABASE ? AS rescued", [.text(path)])
            defer { try? connection.execute("DETACH DATABASE rescued") }
            try connection.transaction {
                for table in ["deliveries", "dead_letters"] {
                    // A copy of an earlier version has no checksums.
                    let hasChecksums = try connection.integer(
                        "SELECT 1 FROM pragma_table_info(?, 'rescued') WHERE name = 'crc'",
                        [.text(table)]
                    )
                    let columns = hasChecksums == nil ? "*, NULL" : "*"
                    try connection.execute(
                        "INSERT OR IGNORE INTO \(table) SELECT \(columns) FROM rescued.\(table)"
                    )
                }
            }
        }
        unlink(path)
    }

    /// Closes the files; later calls fail.
    func close() {
        // Computed while the files are open, so that no other file can have their inodes.
        let abandoned = place.abandoned
        database.close()
        fileLock.withLock { $0 = nil }
        for path in abandoned { unlink(path) }
    }

    /// Whether an error means that the file is corrupt, and of no further use.
    static func isBroken(_ error: any Error) -> Bool {
        guard let code = (error as? SQLiteError)?.code else { return false }
        // SQLITE_ERROR: a table is missing.
        return [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR].contains(code)
    }
}
