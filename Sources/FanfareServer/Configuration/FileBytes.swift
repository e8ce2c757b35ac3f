internal import Glibc

/// The reading of small files at start, before there are loops that it could block.
enum FileBytes {
    /// Why a file could not be read.
    struct Refusal: Error, Equatable {
        /// The `errno` that the call left.
        var code: Int32

        /// The code in words, as `No such file or directory`.
        var reason: String { String(cString: strerror(code)) }
    }

    /// Returns what a file holds.
    ///
    /// - Throws: The first system call's `errno`.
    static func read(_ path: String) throws(Refusal) -> [UInt8] {
        let fd = open(path, O_RDONLY | O_CLOEXEC)
        guard fd >= 0 else { throw Refusal(code: errno) }
        defer { close(fd) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(fd, &part, part.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += part[..<count]
            } else if errno != EINTR {
                throw Refusal(code: errno)
            }
        }
    }
}
