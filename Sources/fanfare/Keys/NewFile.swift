import CommandSupport
import Glibc

/// A file that a command creates, and overwrites only if told to.
struct NewFile {
    let path: String
    /// The permissions; `0o600` for a file that only its owner may read.
    let mode: mode_t

    /// Throws if the file exists.
    func checkDoesNotExist() throws(CommandError) {
        if access(path, F_OK) == 0 { throw alreadyExists }
    }

    /// Writes the file.
    ///
    /// - Parameters:
    ///   - bytes: The content.
    ///   - overwrites: Whether an existing file is replaced.
    /// - Throws: ``CommandError`` if the file exists or cannot be written.
    func write(_ bytes: [UInt8], overwrites: Bool) throws(CommandError) {
        if overwrites, unlink(path) != 0, errno != ENOENT {
            throw systemError("cannot be replaced")
        }
        // O_EXCL: no file that was created meanwhile is overwritten, and no symbolic link is followed.
        let fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        if fd < 0, errno == EEXIST { throw alreadyExists }
        guard fd >= 0 else { throw systemError("cannot be created") }
        defer { close(fd) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw systemError("cannot be written") }
            rest = rest.dropFirst(count)
        }
    }

    private var alreadyExists: CommandError {
        CommandError("\(path) already exists; choose another name, or add --force")
    }

    private func systemError(_ what: String) -> CommandError {
        CommandError("\(path) \(what): \(String(cString: strerror(errno)))")
    }
}
