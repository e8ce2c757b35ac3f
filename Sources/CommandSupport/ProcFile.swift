import Glibc

/// Reads files of proc(5).
package enum ProcFile {
    /// The file's text; nil if it cannot be read.
    package static func text(at path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &block, block.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(contentsOf: block[..<count])
        }
    }

    /// Parses the size in a line such as `VmRSS:     1708 kB`.
    ///
    /// - Parameters:
    ///   - field: The start of the line, with its colon.
    ///   - text: The text of `/proc/PID/status` or `/proc/PID/smaps_rollup`.
    /// - Returns: The size in bytes; nil if there is no such line.
    package static func byteCount(of field: String, in text: String) -> Int? {
        let line = text.split(separator: "\n").first { $0.hasPrefix(field) }
        let words = line?.split(whereSeparator: \.isWhitespace) ?? []
        guard words.count == 3, words[2] == "kB" else { return nil }
        return Int(words[1]).map { $0 * 1_024 }
    }

    /// The numeric entries of a directory: processes, threads or descriptors; nil if the directory cannot be read.
    package static func numbers(in path: String) -> [Int32]? {
        guard let directory = opendir(path) else { return nil }
        defer { closedir(directory) }
        var numbers: [Int32] = []
        while let entry = readdir(directory) {
            // SAFETY: the entry is only while its name, so d_name is read up to its zero byte and not as a whole.
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { continue }
            let name = UnsafeRawPointer(entry).advanced(by: offset)
                .assumingMemoryBound(to: CChar.self)
            if let number = Int32(String(cString: name)) { numbers.append(number) }
        }
        return numbers
    }

    /// The target of a symbolic link; nil if it cannot be read.
    package static func link(at path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: 256)
        let count = readlink(path, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
