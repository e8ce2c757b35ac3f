internal import Primitives
package import PusherProtocol

/// The encoding of a session in a row of a file: its record, besides its key and the time at which it was parked.
///
/// The record ends with a checksum, because a serial increased by a faulty disk would skip messages unnoticed. In a
/// cluster Redis has the same records.
package enum SessionCoding {
    private static var version: UInt8 { 2 }

    private enum Flag {
        static let answersPings: UInt8 = 1
        static let mayLackCursors: UInt8 = 2
        static let owesOpening: UInt8 = 1
        static let owesGap: UInt8 = 2
        static let knowsMissed: UInt8 = 4
    }

    // MARK: - Writing

    /// The key of a row.
    package static func key(of address: SessionAddress) -> [UInt8] {
        bytes(address.key.high) + bytes(address.key.low)
    }

    /// The record of a session.
    package static func record(of session: StoredSession) -> [UInt8] {
        var record: [UInt8] = [version, session.state.rawValue]
        record.append(
            (session.answersPings ? Flag.answersPings : 0)
                | (session.mayLackCursors ? Flag.mayLackCursors : 0)
        )
        record += bytes(UInt8(truncatingIfNeeded: session.socketIDs.count))
        for id in session.socketIDs { record += bytes(id.first) + bytes(id.second) }
        record += bytes(UInt32(truncatingIfNeeded: session.cursors.count))
        for cursor in session.cursors { append(cursor, to: &record) }
        return record + bytes(checksum(record[...], of: session.address))
    }

    private static func append(_ cursor: SessionCursor, to record: inout [UInt8]) {
        append(cursor.channel.text, to: &record)
        append(cursor.position.stream.text, to: &record)
        record += bytes(cursor.position.serial)
        record.append(
            (cursor.owesOpening ? Flag.owesOpening : 0)
                | (cursor.owedGap == nil ? 0 : Flag.owesGap)
                | (cursor.owedGap?.missed == nil ? 0 : Flag.knowsMissed)
        )
        guard let gap = cursor.owedGap else { return }
        append(gap.reason.rawValue, to: &record)
        if let missed = gap.missed { record += bytes(missed) }
    }

    private static func append(_ text: String, to record: inout [UInt8]) {
        record += bytes(UInt16(truncatingIfNeeded: text.utf8.count))
        record += text.utf8
    }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    /// FNV-1a of 64 bits, of the session's address and its record.
    private static func checksum(_ record: ArraySlice<UInt8>, of address: SessionAddress) -> UInt64
    {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for bytes in [Array(address.app.text.utf8)[...], key(of: address)[...], record] {
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        }
        return hash
    }

    // MARK: - Reading

    /// The address of a session; `nil` for a damaged key.
    package static func address(app: String, key: [UInt8]) -> SessionAddress? {
        var reader = Reader(rest: key[...])
        guard !app.isEmpty, let high: UInt64 = reader.number(), let low: UInt64 = reader.number(),
            reader.rest.isEmpty
        else { return nil }
        return SessionAddress(app: AppID(app), key: SessionKey(high: high, low: low))
    }

    /// The session of a row; `nil` for a damaged record.
    package static func session(
        _ address: SessionAddress,
        parkedAt: Int64?,
        record: [UInt8]
    ) -> StoredSession? {
        var end = Reader(rest: record.suffix(8))
        let content = record.dropLast(8)
        guard let sum: UInt64 = end.number(), sum == checksum(content, of: address) else {
            return nil
        }
        var reader = Reader(rest: content)
        guard reader.number() == version,
            let state = reader.number().flatMap({ State(rawValue: $0) }),
            let flags: UInt8 = reader.number(), let idCount: UInt8 = reader.number()
        else { return nil }
        var session = StoredSession(
            address,
            state,
            parkedAt: parkedAt,
            mayLackCursors: flags & Flag.mayLackCursors != 0,
            answersPings: flags & Flag.answersPings != 0
        )
        for _ in 0..<idCount {
            guard let first: UInt64 = reader.number(), let second: UInt64 = reader.number() else {
                return nil
            }
            session.socketIDs.append(SocketID(first, second))
        }
        guard let cursorCount: UInt32 = reader.number() else { return nil }
        for _ in 0..<cursorCount {
            guard let cursor = reader.cursor() else { return nil }
            session.cursors.append(cursor)
        }
        return reader.rest.isEmpty ? session : nil
    }

    private typealias State = StoredSession.State

    /// Takes values from the front of a record.
    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func number<Number: FixedWidthInteger>() -> Number? {
            let size = Number.bitWidth / 8
            guard rest.count >= size else { return nil }
            defer { rest = rest.dropFirst(size) }
            return rest.prefix(size).reversed().reduce(0) { $0 << 8 | Number($1) }
        }

        mutating func text() -> String? {
            guard let length: UInt16 = number(), rest.count >= Int(length) else { return nil }
            defer { rest = rest.dropFirst(Int(length)) }
            return String(decoding: rest.prefix(Int(length)), as: UTF8.self)
        }

        mutating func cursor() -> SessionCursor? {
            guard let name = text(), let stream = text(), let stored: UInt64 = number(),
                let serial = UInt64(safe: stored),
                let flags: UInt8 = number(), let id = StreamID(stream),
                let channel = try? ChannelName(name, limits: .stored)
            else { return nil }
            var cursor = SessionCursor(channel, ChannelPosition(stream: id, serial: serial))
            cursor.owesOpening = flags & Flag.owesOpening != 0
            guard flags & Flag.owesGap != 0 else { return cursor }
            guard let reason = text() else { return nil }
            var gap = RecoveryGap(RecoveryGap.Reason(rawValue: reason))
            if flags & Flag.knowsMissed != 0 {
                guard let missed: UInt64 = number() else { return nil }
                gap.missed = missed
            }
            cursor.owedGap = gap
            return cursor
        }
    }
}

extension ProtocolLimits {
    /// The limits of names in a file, which were valid when they were written.
    package static var stored: ProtocolLimits {
        var limits = ProtocolLimits()
        limits.channelNameLengthMax = .max
        return limits
    }
}
