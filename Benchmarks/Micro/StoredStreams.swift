import ArgumentParser
import Archive
import Broker
import Foundation
import PusherProtocol

/// What many stored streams cost the archive.
struct StoredStreams: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "streams",
        abstract: "Measure an archive with few streams and with many.",
        discussion: """
            Prints the CPU time of a look for messages to delete, where there are none, and of a \\
            transaction with one message, in files with so many streams of one message each. Ends \\
            with 1 if one of them takes more than 20 times as long with many as with few.
            """
    )

    @Option(help: "The streams of the large file.")
    var count = 1_000_000

    private static let few = 1_000
    private static let ratioMax = 20.0

    func validate() throws {
        guard count >= Self.few else {
            throw ValidationError("--count is \(count), and must be at least \(Self.few).")
        }
    }

    func run() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "fanfare-streams-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        print(padded("Streams in the file", to: 24) + "  look, µs   message, µs")
        let costs = try [Self.few, count]
            .map { count in
                let cost = try Self.cost(of: count, at: folder.appending(path: "\(count)").path())
                let figures = [cost.look, cost.message].map { rounded($0 / 1e3) }
                print(
                    padded("\(count)", to: 24) + padded(figures[0], to: 10, left: true)
                        + padded(figures[1], to: 14, left: true)
                )
                return cost
            }
        let ratio = max(costs[1].look / costs[0].look, costs[1].message / costs[0].message)
        guard ratio <= Self.ratioMax else { throw ExitCode(1) }
    }

    /// The costs in nanoseconds.
    private static func cost(
        of count: Int,
        at path: String
    ) throws -> (look: Double, message: Double) {
        var settings = ArchiveFile.Settings(path: path)
        settings.byteCountMax = .max / 2
        let file = try ArchiveFile(settings)
        var number: UInt64 = 0
        for first in stride(from: 0, to: count, by: 10_000) {
            number += 1
            let rows = Int64(first + 1)...Int64(min(first + 10_000, count))
            let changes = try rows.flatMap { row in
                [ArchiveChange.open(try stream(row)), storedMessage(1, of: row)]
            }
            try file.perform(changes, number: number, isDurable: false)
        }
        let look = Subject(name: "look", operation: "a look for messages to delete") {
            if (try? file.removeExpired(at: 1)) != false { fail("there is something to delete") }
        }
        var serial: UInt64 = 1
        let message = Subject(name: "message", operation: "a transaction with one message") {
            (number, serial) = (number + 1, serial + 1)
            let row = Int64(number % UInt64(count)) + 1
            do {
                try file.perform([storedMessage(serial, of: row)], number: number, isDurable: false)
            } catch { fail("\(error)") }
        }
        return (
            Measurement(look, samples: 15).median, Measurement(message, samples: 15).median
        )
    }

    private static func stream(_ row: Int64) throws -> StoredStream {
        StoredStream(
            row: row,
            ChannelAddress(app: AppID("1"), name: try ChannelName("channel-\(row)")),
            StreamID(bits: UInt64(row)),
            lastSerial: 0,
            StoredStream.Limits(
                RecoveryRule {
                    $0.messagesMax = .max / 2
                    $0.bytesMax = .max / 2
                }
            )
        )
    }

    private static func storedMessage(_ serial: UInt64, of row: Int64) -> ArchiveChange {
        let envelope = Envelope(text: [UInt8](repeating: 0x78, count: 100))
        return .message(
            row: row,
            StoredMessage(serial: serial, time: 1_000, except: nil, envelope: envelope),
            nil
        )
    }
}
