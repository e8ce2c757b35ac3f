internal import Glibc

/// Reads small files, blocking; not for a loop's thread.
enum FileBytes {
    /// A failed system call.
    struct ReadError: Error, Equatable {
        /// The `errno` of the call.
        var code: Int32

        /// The message of the code, such as `No such file or directory`.
        var reason: String { String(cString: strerror(code)) }
    }

    /// Returns the content of a file.
    ///
    /// - Throws: ``ReadError`` of the first failed call.
    static func read(_ path: String) throws(ReadError) -> [UInt8] {
        let fd = open(path, O_RDONLY | O_CLOEXEC)
        guard fd >= 0 else { throw ReadError(code: errno) }
        defer { close(fd) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(fd, &part, part.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += part[..<count]
            } else if errno != EINTR {
                throw ReadError(code: errno)
            }
        }
    }
}
