import CommandSupport
import Glibc

/// A file that a command makes and does not overwrite unasked.
struct NewFile {
    let path: String
    /// The permissions, as `0o600` for what only its owner may read.
    let mode: mode_t

    /// Throws when there is such a file already.
    func checkAbsence() throws(CommandError) {
        if access(path, F_OK) == 0 { throw existence }
    }

    /// Writes the whole file.
    ///
    /// - Parameters:
    ///   - bytes: What it is to hold.
    ///   - overwrites: Whether it may take the place of another file.
    /// - Throws: ``CommandError`` when there is one already, or the file cannot be written.
    func write(_ bytes: [UInt8], overwrites: Bool) throws(CommandError) {
        if overwrites, unlink(path) != 0, errno != ENOENT { throw refusal("cannot be replaced") }
        // O_EXCL: whoever is faster keeps the file, and no link leads the key elsewhere.
        let fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        if fd < 0, errno == EEXIST { throw existence }
        guard fd >= 0 else { throw refusal("cannot be made") }
        defer { close(fd) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw refusal("cannot be written") }
            rest = rest.dropFirst(count)
        }
    }

    private var existence: CommandError {
        CommandError("\(path) exists already; choose another name, or add --force")
    }

    private func refusal(_ what: String) -> CommandError {
        CommandError("\(path) \(what): \(String(cString: strerror(errno)))")
    }
}
