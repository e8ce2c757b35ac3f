import Glibc

/// Reads small files, blocking; not for a loop's thread.
package enum FileBytes {
    /// Returns the content of a file.
    ///
    /// - Throws: The first call that failed.
    package static func read(_ path: String) throws(SystemError) -> [UInt8] {
        let file = try FileDescriptor(open(path, O_RDONLY | O_CLOEXEC), from: "open")
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(file.raw, &part, part.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += part[..<count]
            } else if errno != EINTR {
                throw SystemError.last("read")
            }
        }
    }
}
