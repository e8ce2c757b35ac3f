internal import Glibc

/// Detects changes of files, including their replacement by other files, as editors and deployments do.
///
/// Polls the files every three seconds, which works on every file system and takes about a tenth of a millisecond per
/// second; after a change it polls more often. A file that is written at once is reported within three and a half
/// seconds.
public struct FileWatch: Sendable {
    private let paths: [String]
    private let interval: Duration
    private var seen: [Stamp?]

    /// The default polling interval.
    public static var usualInterval: Duration { .seconds(3) }

    /// The time for which changed files must stay unchanged before they are reported, at most: half a second.
    private static var settling: Duration { .milliseconds(500) }

    /// Watches a file from now on.
    ///
    /// Read the file after this call to miss no change.
    ///
    /// - Parameters:
    ///   - path: The file; it may be a symbolic link, and need not exist yet.
    ///   - interval: The polling interval.
    public init(_ path: String, interval: Duration = FileWatch.usualInterval) {
        self.init([path], interval: interval)
    }

    /// Watches files that belong together, such as a certificate and its key: a change of several is reported once.
    ///
    /// - Parameters:
    ///   - paths: The files; without any, no change is ever reported.
    ///   - interval: The polling interval.
    public init(_ paths: [String], interval: Duration = FileWatch.usualInterval) {
        self.paths = paths
        self.interval = interval
        seen = paths.map { Stamp(of: $0) }
    }

    /// Returns when a file has changed and all files were unchanged between two polls after that.
    ///
    /// A file that is still being written is not reported: a part of it may look complete.
    ///
    /// - Throws: `CancellationError` when its task is cancelled.
    public mutating func change() async throws {
        var last = seen
        while true {
            try await Task.sleep(for: last == seen ? interval : min(interval, Self.settling))
            let current = paths.map { Stamp(of: $0) }
            // A missing file is expected to appear: some editors remove the old one first.
            if !current.contains(nil), current != seen, current == last {
                seen = current
                return
            }
            last = current
        }
    }

    /// The attributes of a file that differ after a change (inode(7)).
    private struct Stamp: Equatable {
        private let device: dev_t
        private let inode: ino_t
        private let size: off_t
        /// The times of the last change of the content (mtime) and of the inode (ctime).
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
