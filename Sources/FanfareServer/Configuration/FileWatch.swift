internal import Glibc

/// Sees when one of some files has changed, also by another file that took its place, as editors and deployments do.
///
/// It looks at the files every three seconds, which works on every file system, and costs about a tenth of a millisecond a
/// second; once it has seen a change, it looks more often. A file that is written at once is reported after three and a
/// half seconds at the latest.
public struct FileWatch: Sendable {
    private let paths: [String]
    private let interval: Duration
    private var seen: [Stamp?]

    /// The time between two looks, if nothing else is said.
    public static var usualInterval: Duration { .seconds(3) }

    /// How long files that have changed must keep still, at most: half a second.
    private static var settling: Duration { .milliseconds(500) }

    /// Watches a file from now on: read it after this, and no change is missed.
    ///
    /// - Parameters:
    ///   - path: The file, which may be a symbolic link, and need not be there yet.
    ///   - interval: The time between two looks.
    public init(_ path: String, interval: Duration = FileWatch.usualInterval) {
        self.init([path], interval: interval)
    }

    /// Watches files that belong together, as a certificate and its key: a change of both is one.
    ///
    /// - Parameters:
    ///   - paths: The files; without any there is never a change.
    ///   - interval: The time between two looks.
    public init(_ paths: [String], interval: Duration = FileWatch.usualInterval) {
        self.paths = paths
        self.interval = interval
        seen = paths.map { Stamp(of: $0) }
    }

    /// Returns when a file has changed and all have then kept still between two looks.
    ///
    /// What is still being written is not worth reading: half a file may look like a whole one.
    ///
    /// - Throws: `CancellationError` when its task is cancelled.
    public mutating func change() async throws {
        var last = seen
        while true {
            try await Task.sleep(for: last == seen ? interval : min(interval, Self.settling))
            let current = paths.map { Stamp(of: $0) }
            // A file that is not there is on its way: some editors remove the old one first.
            if !current.contains(nil), current != seen, current == last {
                seen = current
                return
            }
            last = current
        }
    }

    /// What a look at a file shows; a change shows in it (inode(7)).
    private struct Stamp: Equatable {
        private let device: dev_t
        private let inode: ino_t
        private let size: off_t
        /// When the content and when anything about the file was changed last.
        private let times: [Int]

        init?(of path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = status.st_dev
            inode = status.st_ino
            size = status.st_size
            times = [
                status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                status.st_ctim.tv_nsec,
            ]
        }
    }
}
