internal import Glibc

/// The lock that reserves a database for one broker.
///
/// It is flock(2) on a separate file, whose name ends in `-lock` and which contains the ID of the process. The kernel
/// releases it when the process ends for any reason. The file stays, because a removed one could be locked twice. Only
/// SQLite locks the database itself, so the command line can use it at the same time.
package final class DatabaseLock: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Locks the database at a path, which need not exist yet.
    ///
    /// - Throws: ``DatabaseLockError``: another process holds the lock, or the lock's file cannot be used.
    package init(database: String) throws(DatabaseLockError) {
        let path = Self.resolved(database) + "-lock"
        self.path = path
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw .failed(path: path, code: errno) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let code = errno
                let holder = Self.holder(descriptor)
                _ = close(descriptor)
                guard code == EWOULDBLOCK else { throw .failed(path: path, code: code) }
                throw .held(path: database, holder: holder)
            }
            // Another process may have removed the file between the two calls.
            guard FileIdentity(descriptor: descriptor) == FileIdentity(path: path) else {
                _ = close(descriptor)
                continue
            }
            self.descriptor = descriptor
            break
        }
        let text = Array("\(getpid()) \(Self.hostName)\n".utf8)
        // The content is only for error messages of other processes: the lock holds without it.
        if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, text, text.count, 0) }
    }

    deinit { _ = close(descriptor) }

    /// Whether the locked file is still at its path, where others would lock it.
    package var isInPlace: Bool { FileIdentity(descriptor: descriptor) == FileIdentity(path: path) }

    /// The path without symbolic links, so that all names of a file lead to the same lock.
    private static func resolved(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The process named in a lock's file, for messages.
    private static func holder(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        let words = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
            .split(whereSeparator: \.isWhitespace)
        guard let id = words.first.flatMap({ Int32($0) }) else { return "another process" }
        // Other machines and containers, whose process IDs mean nothing here, may share the folder.
        guard words.count > 1, words[1] != hostName else { return "process \(id)" }
        return "process \(id) on \(words[1])"
    }

    private static var hostName: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "" }
        return String(
            decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
            as: UTF8.self
        )
    }
}

/// The lock on a database's own inode, which holds for all of its names and does not depend on another file.
///
/// It is flock(2), which is independent of SQLite's own locks (fcntl(2)). But closing any descriptor of a file releases
/// SQLite's locks of this process. Therefore the lock is taken before SQLite opens the file, and released after SQLite
/// has closed it.
package final class DatabaseFileLock: Sendable {
    private let descriptor: Int32

    /// Locks a database, and creates the file if there is none; throws ``DatabaseLockError``.
    package init(path: String) throws(DatabaseLockError) {
        makePrivateFile(at: path)
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .failed(path: path, code: errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            // NFS has no such lock for a file opened for reading; there the lock's own file has to suffice.
            guard code != EBADF, code != EOPNOTSUPP else { return }
            guard code == EWOULDBLOCK else { throw .failed(path: path, code: code) }
            throw .held(path: path, holder: "another process, under this or another name")
        }
    }

    deinit { _ = close(descriptor) }
}

/// The reason why a database could not be locked.
package enum DatabaseLockError: Error, Equatable, CustomStringConvertible {
    /// Another process holds the file at `path`.
    case held(path: String, holder: String)
    /// The lock's file cannot be opened or locked; the `errno`.
    case failed(path: String, code: Int32)

    /// The error, as a sentence without its full stop.
    package var description: String {
        switch self {
        case .held(let path, let holder):
            "\(path) is in use by \(holder); each broker needs its own file"
        case .failed(let path, let code):
            "\(path) cannot be locked: \(String(cString: strerror(code)))"
        }
    }
}

/// The identity of a file: its device and inode (stat(2)).
package struct FileIdentity: Equatable, Sendable {
    private let device: UInt
    private let inode: UInt

    /// Looks up a path, following symbolic links; `nil` if there is no such file.
    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Identifies an open file.
    package init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
    }
}

/// Creates an empty file that only its owner can read, unless there is one; SQLite accepts it as a database.
package func makePrivateFile(at path: String) {
    let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    if descriptor >= 0 { close(descriptor) }
}
