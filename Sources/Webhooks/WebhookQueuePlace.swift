internal import CSQLite
internal import Dispatch
internal import Glibc

/// What to do about a file that others have deleted, moved or replaced while it was open.
///
/// SQLite goes on with the open files and notices nothing. They are given up, but for what is in them: it is copied
/// beside the path, and from there into whatever is opened at the path next.
extension WebhookQueue {
    /// The files of a database at a path: its own, the log of changes, and the index of that.
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

        /// The paths of the log and its index, where these are still at the path and the database is not.
        ///
        /// SQLite, which removes them when it closes a database in its place, leaves them then; whatever is opened at
        /// the path next would take them for its own.
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

    /// Where the content of a file is kept that is no longer at its path.
    static func rescuePath(of path: String) -> String { path + "-rescued" }

    /// Whether the files at the path are still those that are open; true for memory.
    func isInPlace() async -> Bool {
        guard let place else { return true }
        return await Self.aside { place.isUnchanged }
    }

    /// Copies all content to the rescue path, in the place of what is there.
    ///
    /// - Throws: A ``SQLiteError``, for example of a full disk or a folder that is gone; there is no copy then.
    func rescue() async throws {
        guard let place else { return }
        try await Self.aside { [database] in
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
                throw WebhookQueueError.failed(
                    "\(path) cannot be written: \(String(cString: strerror(errno)))"
                )
            }
        }
    }

    /// Takes in what was copied to the rescue path, now or by a broker that was killed, and removes the copy.
    ///
    /// - Returns: Whether there was a copy.
    /// - Throws: A ``SQLiteError``; the copy stays then.
    func absorbRescued() async throws -> Bool {
        guard let place else { return false }
        return try await Self.aside { [database] in
            let path = Self.rescuePath(of: place.path)
            guard FileIdentity(path: path) != nil else { return false }
            try database.access { connection in
                try connection.execute("ATTACH DATABASE ? AS rescued", [.text(path)])
                defer { try? connection.execute("DETACH DATABASE rescued") }
                try connection.transaction {
                    for table in ["deliveries", "dead_letters"] {
                        try connection.execute(
                            "INSERT OR IGNORE INTO \(table) SELECT * FROM rescued.\(table)"
                        )
                    }
                }
            }
            unlink(path)
            return true
        }
    }

    /// Renames the copy at the rescue path, so that it is not taken in again; returns its new path.
    func setAsideRescued() -> String {
        let path = Self.rescuePath(of: place?.path ?? "")
        rename(path, path + "-unreadable")
        return path + "-unreadable"
    }

    /// Closes the files; later calls fail.
    func close() async {
        await Self.aside { [database, place] in
            // Asked while the files are open, so that no other can have their inodes.
            let abandoned = place?.abandoned ?? []
            database.close()
            for path in abandoned { unlink(path) }
        }
    }

    /// Whether an error says that the content of the file is not what was written, so that it is of no use any more.
    static func isBroken(_ error: any Error) -> Bool {
        guard let code = (error as? SQLiteError)?.code else { return false }
        // SQLITE_ERROR: a table is missing.
        return [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR].contains(code)
    }

    /// Runs what waits for a disk, on a thread of its own.
    static func aside<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result(catching: body))
            }
        }
        return try result.get()
    }
}
