internal import Glibc

/// Files that can no longer be used, kept for inspection.
enum SetAside {
    /// Renames a database and its log, so that another can be created at its path, and returns the new path.
    ///
    /// `time` is in milliseconds since 1970 and becomes a part of the name. Throws ``ArchiveError/failed(_:)``.
    static func move(_ path: String, at time: Int64) throws(ArchiveError) -> String {
        let kept = "\(path).malformed-\(time)"
        guard rename(path, kept) == 0 || errno == ENOENT else {
            throw .failed("\(path) cannot be renamed: \(String(cString: strerror(errno)))")
        }
        // Together with its log, which SQLite would otherwise apply to the new database.
        for suffix in ["-wal", "-shm", "-mark"] { _ = rename(path + suffix, kept + suffix) }
        return kept
    }
}

/// The clocks of the archive's thread.
enum Clock {
    /// A steady clock, in milliseconds.
    static var milliseconds: Int64 { read(CLOCK_MONOTONIC) }

    /// The time in milliseconds since 1970.
    static var unixMilliseconds: Int64 { read(CLOCK_REALTIME) }

    /// The time since the start of the machine, including suspended time, in milliseconds.
    static var uptimeMilliseconds: Int64 { read(CLOCK_BOOTTIME) }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
