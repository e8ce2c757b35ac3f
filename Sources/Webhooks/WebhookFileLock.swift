internal import Glibc

/// The lock by which a file of webhooks serves one broker.
///
/// It is flock(2) on a file beside it, whose name ends in `-lock` and which holds the ID of the process. The kernel
/// releases it with the process, however that ends; the file stays, as one that were removed could be locked by two.
/// The database itself is locked by SQLite alone, so that the command line can use it at the same time.
final class WebhookFileLock: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Locks a file.
    ///
    /// - Parameter database: The file of the webhooks, which need not be there yet.
    /// - Throws: ``WebhookFileLockError``: another process has it, or the lock's own file cannot be used.
    init(database: String) throws(WebhookFileLockError) {
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
        // Only a message of others shows it: the lock holds without.
        if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, text, text.count, 0) }
    }

    deinit { _ = close(descriptor) }

    /// Whether the locked file is still the one that others would lock.
    var isInPlace: Bool { FileIdentity(descriptor: descriptor) == FileIdentity(path: path) }

    /// The path without symbolic links, so that each name of a file leads to the same lock.
    private static func resolved(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The process that a lock's file names, for people.
    private static func holder(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        let words = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
            .split(whereSeparator: \.isWhitespace)
        guard let id = words.first.flatMap({ Int32($0) }) else { return "another process" }
        // A folder may be shared with other machines and containers, whose processes have numbers of their own.
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

/// Why a file of webhooks could not be locked.
enum WebhookFileLockError: Error, Equatable, CustomStringConvertible {
    /// Another process has the file at `path`.
    case held(path: String, holder: String)
    /// The lock's own file cannot be opened or locked; the `errno`.
    case failed(path: String, code: Int32)

    /// What is wrong, as a sentence without its full stop.
    var description: String {
        switch self {
        case .held(let path, let holder):
            "\(path) is in use by \(holder), and a file serves one broker"
        case .failed(let path, let code):
            "\(path) cannot be locked: \(String(cString: strerror(code)))"
        }
    }
}
