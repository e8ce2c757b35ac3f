import Foundation

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
        guard FileManager.default.createFile(atPath: path, contents: nil) else {
            throw Refusal("--json \(path) cannot be written: \(String(cString: strerror(errno))).")
        }
    }

    /// Whether the JSON takes the place of the table.
    var isStandard: Bool { path == "-" }

    /// Writes the JSON, and a line break behind it.
    func write(_ json: [UInt8]) throws {
        guard let path else { return }
        let text = String(decoding: json, as: UTF8.self)
        if isStandard { return Standard.print(text) }
        do {
            try Data((text + "\n").utf8).write(to: URL(filePath: path))
        } catch {
            throw Refusal("--json \(path) cannot be written: \(error.localizedDescription)")
        }
    }
}
