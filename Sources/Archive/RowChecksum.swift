internal import Broker
internal import Primitives
internal import PusherProtocol

/// The checksums of rows: CRC-32C over all columns and the number of the stream.
///
/// SQLite has none for the pages of a database. A row with a wrong checksum is refused, whatever its content.
enum RowChecksum {
    /// The value of a row that no checksum matches.
    static var none: Int64 { -1 }

    private static func sum(_ body: (inout CRC32C) -> Void) -> Int64 {
        var sum = CRC32C()
        body(&sum)
        return Int64(sum.value)
    }

    /// A row of `messages`.
    static func message(row: Int64, _ message: StoredMessage) -> Int64 {
        sum {
            $0.add(row)
            $0.add(Int64(bitPattern: message.serial))
            $0.add(message.time)
            $0.add(message.except == nil ? 0 : 1)
            if let except = message.except {
                $0.add(Int64(bitPattern: except.first))
                $0.add(Int64(bitPattern: except.second))
            }
            $0.addField(message.envelope.frame.span.extracting(message.envelope.headerLength...))
        }
    }

    /// A row of `keys`.
    static func key(row: Int64, serial: Int64, digest: Int64, expiry: Int64, _ key: String) -> Int64
    {
        sum {
            for number in [row, serial, digest, expiry] { $0.add(number) }
            $0.addField(Array(key.utf8).span)
        }
    }

    /// The first columns of a row of `streams`.
    static func stream(row: Int64, life: Int64, app: String, channel: String, _ id: String) -> Int64
    {
        sum {
            $0.add(row)
            $0.add(life)
            for text in [app, channel, id] { $0.addField(Array(text.utf8).span) }
        }
    }

    /// The last serial of a stream.
    static func end(row: Int64, last: Int64) -> Int64 { numbers(row, last) }

    /// A row of `sessions`, whose record has a checksum of its own.
    static func session(app: String, key: [UInt8], parkedAt: Int64?) -> Int64 {
        sum {
            $0.addField(Array(app.utf8).span)
            $0.addField(key.span)
            $0.add(parkedAt ?? .min)
        }
    }

    /// A row of `session_bounds`.
    static func bound(app: String, before: Int64) -> Int64 {
        session(app: app, key: [], parkedAt: before)
    }

    /// Numbers.
    static func numbers(_ numbers: Int64...) -> Int64 {
        sum { for number in numbers { $0.add(number) } }
    }
}
