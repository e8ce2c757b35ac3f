import Broker
import Primitives
import PusherProtocol
import RESP
import Redis

/// The messages of a reply to `XRANGE`; damaged entries leave a gap between the others.
struct StoredEntries {
    private(set) var messages: [StoredMessage] = []
    /// The serial of the last entry; `nil` if no entry has one.
    private(set) var lastSerial: UInt64?
    private(set) var damagedCount = 0

    init(_ reply: borrowing RESPView) {
        reply.forEach { entry in
            let position = StreamPosition(entry[0])
            lastSerial = position?.serial ?? lastSerial
            if let message = StoredMessage(entry) {
                messages.append(message)
            } else if position?.serial != 0 {
                // Position 0 is the beginning of a stream.
                damagedCount += 1
            }
        }
    }

    /// Reads a reply of a store, and counts the damaged entries.
    init(_ reply: borrowing RESPView, from store: ClusterStore, of partitions: Partitions) {
        self.init(reply)
        for _ in 0..<damagedCount { partitions.refused("an entry of a stream", by: store) }
    }
}

extension StoredMessage {
    /// The message of an entry; `nil` for one of another kind.
    init?(_ entry: borrowing RESPView) {
        guard let position = StreamPosition(entry[0]),
            let announcement = ChannelAnnouncement(entry, at: position),
            let text = announcement.content.envelope
        else { return nil }
        self.init(
            serial: position.serial,
            time: announcement.time,
            except: announcement.except.flatMap { SocketID($0) },
            envelope: Envelope(text: text, serial: position.serial)
        )
    }
}

extension ChannelAnnouncement {
    /// Reads an entry of a stream, in the form of its announcement.
    init?(_ entry: borrowing RESPView, at position: StreamPosition) {
        var bytes: [UInt8] = []
        bytes.append(decimal: position.serial)
        bytes.append(UInt8(ascii: " "))
        bytes += entry[1][1].copy()
        self.init(bytes)
    }
}

extension ChannelAnnouncement.Content {
    /// The event as its subscribers get it, except for its number; `nil` for anything else.
    var envelope: [UInt8]? {
        switch self {
        case .event(let envelope), .clientEvent(let envelope): envelope
        case .memberAdded, .memberRemoved, .count, .stream: nil
        }
    }
}
