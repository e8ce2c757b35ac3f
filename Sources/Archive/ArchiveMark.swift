internal import Glibc
internal import Primitives

/// How far an archive's file was written, in a separate file (`…-mark`).
///
/// SQLite silently ends a write-ahead log at the first damaged frame. A file whose last transaction is older than the
/// mark has lost released messages. A file with another token is another file, for example a restored copy. The mark is
/// written after each transaction and before it is confirmed. It is synced only at the start and the end of a run,
/// because the machine's boot ID shows a loss of power.
final class ArchiveMark {
    /// The content of a mark.
    struct Content: Equatable {
        /// The version of the file's tables.
        var version: Int64
        /// The random number that the run has written into the file.
        var token: Int64
        /// The number of the last transaction.
        var last: Int64
        /// The time by the file's clock.
        var time: Int64
        /// The clocks at that time.
        var reading: ClockReading
        /// The checksum of the machine's boot ID.
        var boot: Int64
    }

    private static let magic: Int64 = 0x314B_524D_4641_4E46
    private static let length = 8 * 9
    private let descriptor: Int32
    /// The mark of the last run; `nil` if there is none, or it is damaged.
    let former: Content?

    /// Opens or creates the mark of a file; throws ``ArchiveError/failed(_:)``.
    init(path: String) throws(ArchiveError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .failed("\(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        former = Self.content(of: descriptor)
    }

    /// Reads the mark at a path; `nil` if there is none, or it is damaged.
    static func content(at path: String) -> Content? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { _ = close(descriptor) }
        return content(of: descriptor)
    }

    private static func content(of descriptor: Int32) -> Content? {
        var bytes = [UInt8](repeating: 0, count: length + 1)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return count == length ? parse(Array(bytes.prefix(length))) : nil
    }

    deinit { _ = close(descriptor) }

    /// The number for a boot ID; 0 for an unknown one, which equals no other.
    static func boot(_ id: String) -> Int64 {
        guard !id.isEmpty else { return 0 }
        var sum = CRC32C()
        sum.add(Array(id.utf8).span)
        return Int64(sum.value) + 1
    }

    /// Replaces the content, and returns whether it could be written; if not, the former content stays.
    @discardableResult
    func write(_ content: Content) -> Bool {
        var numbers = [
            Self.magic, content.version, content.token, content.last, content.time,
            content.reading.calendar, content.reading.uptime, content.boot,
        ]
        numbers.append(Self.checksum(numbers))
        return numbers.withUnsafeBytes {
            pwrite(descriptor, $0.baseAddress, $0.count, 0) == $0.count
        }
    }

    /// Waits until the content is on the disk.
    func sync() { _ = fsync(descriptor) }

    private static func checksum(_ numbers: [Int64]) -> Int64 {
        var sum = CRC32C()
        for number in numbers { sum.add(number) }
        return Int64(sum.value)
    }

    private static func parse(_ bytes: [UInt8]) -> Content? {
        let numbers = (0..<length / 8).map { index in
            bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: index * 8, as: Int64.self) }
        }
        guard numbers[0] == magic, numbers[8] == checksum(Array(numbers.prefix(8))) else {
            return nil
        }
        return Content(
            version: numbers[1],
            token: numbers[2],
            last: numbers[3],
            time: numbers[4],
            reading: ClockReading(calendar: numbers[5], uptime: numbers[6]),
            boot: numbers[7]
        )
    }
}
