import Glibc

/// Where the JSON of a benchmark goes.
struct BenchOutput {
    private let path: String?

    /// A file that may be written, or none.
    ///
    /// - Parameter path: `-` for standard output; nil for nowhere.
    /// - Throws: A `Refusal` before a long run if the file cannot be made.
    init(path: String?) throws {
        self.path = path
        guard let path, !isStandard else { return }
        try Self.write("", to: path)
    }

    /// Whether the JSON takes the place of the table.
    var isStandard: Bool { path == "-" }

    /// Writes the JSON, and a line break behind it.
    func write(_ json: [UInt8]) throws {
        guard let path else { return }
        let text = String(decoding: json, as: UTF8.self)
        if isStandard { return Standard.print(text) }
        try Self.write(text + "\n", to: path)
    }

    private static func write(_ text: String, to path: String) throws {
        let bytes = Array(text.utf8)
        guard let file = fopen(path, "w") else { throw refusal(path) }
        let count = fwrite(bytes, 1, bytes.count, file)
        // What is still buffered is written now, and may not fit on the disk.
        guard fclose(file) == 0, count == bytes.count else { throw refusal(path) }
    }

    private static func refusal(_ path: String) -> Refusal {
        Refusal("--json \(path) cannot be written: \(String(cString: strerror(errno))).")
    }
}
