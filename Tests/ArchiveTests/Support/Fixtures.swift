import Broker
import Foundation
import PusherProtocol

@testable import Archive

/// A folder with a unique path, which is removed at the end.
final class TemporaryFolder: Sendable {
    private let url = FileManager.default.temporaryDirectory
        .appendingPathComponent("fanfare-archive-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String = "history.sqlite") -> String {
        url.appendingPathComponent(name).path
    }

    var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: url.path))?.sorted() ?? []
    }
}

func address(_ name: String, app: String = "1") -> ChannelAddress {
    guard let name = try? ChannelName(name) else { preconditionFailure("\(name) is no name") }
    return ChannelAddress(app: AppID(app), name: name)
}

/// The changes that begin a stream.
func opening(
    _ row: Int64,
    _ name: String = "news",
    bits: UInt64 = 1,
    last: UInt64 = 0,
    _ limits: (inout RecoveryRule) -> Void = { _ in }
) -> ArchiveChange {
    var rule = RecoveryRule()
    limits(&rule)
    return .open(
        StoredStream(
            row: row,
            address(name),
            StreamID(bits: bits),
            lastSerial: last,
            StoredStream.Limits(rule)
        )
    )
}

/// A message whose text is its serial.
func message(
    _ serial: UInt64,
    of row: Int64 = 1,
    at time: Int64 = 1_000,
    except: SocketID? = nil,
    length: Int = 0,
    key: StoredKey? = nil
) -> ArchiveChange {
    let text = Array("\(serial)".utf8) + [UInt8](repeating: 0x20, count: length)
    let envelope = Envelope(text: text)
    let message = StoredMessage(serial: serial, time: time, except: except, envelope: envelope)
    return .message(row: row, message, key)
}

func storedKey(_ text: String, digest: UInt64 = 7, expiry: Int64 = 100_000) -> StoredKey {
    guard let key = IdempotencyKey(text) else { preconditionFailure("\(text) is no key") }
    return StoredKey(key, digest: digest, expiry: expiry)
}

/// A session with everything that a session may have.
func session(_ key: UInt64, parkedAt: Int64? = 5_000) -> StoredSession {
    let owing = SessionCursor(
        address("news").name,
        ChannelPosition(stream: StreamID(bits: 1), serial: key),
        owedGap: RecoveryGap(.truncated, missed: 3),
        owesOpening: true
    )
    let untold = SessionCursor(
        address("private-encrypted-a").name,
        ChannelPosition(stream: StreamID(bits: 2), serial: ChannelPosition.serialMax)
    )
    return StoredSession(
        SessionAddress(app: AppID("1"), key: SessionKey(high: .max - key, low: key)),
        parkedAt: parkedAt,
        [owing, untold],
        socketIDs: [SocketID(1, 2), SocketID(.max, 3)],
        mayLackCursors: true,
        answersPings: true
    )
}

extension ArchiveFile {
    /// Performs changes in the next transaction.
    func perform(_ changes: [ArchiveChange], isDurable: Bool = false) throws {
        try perform(changes, number: try lastTransaction() + 1, isDurable: isDurable)
    }

    /// All serials of a stream.
    func serials(of row: Int64 = 1) throws -> [UInt64] {
        var page = HistoryQuery()
        page.limit = 1_000_000
        return try messages(ArchiveQuery(row: row, page, bytesMax: .max)).messages.map(\.serial)
    }

    /// Deletes all that is to be deleted.
    func removeAllExpired(at now: Int64) throws { while try removeExpired(at: now) {} }
}
