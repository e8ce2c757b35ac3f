import Primitives
import PusherProtocol

/// The last messages of a stream, with consecutive serials.
///
/// The envelopes are those that were sent, shared with the send queues. All times are milliseconds of one steady clock.
struct MessageRing: Sendable {
    private struct Entry {
        let envelope: Envelope
        let time: Int64
    }

    private var entries: [Entry] = []
    /// The index of the oldest entry.
    private var head = 0
    /// The connections that a message excludes, in the order of the serials.
    private var exclusions = Queue<(serial: UInt64, socketID: SocketID)>()
    /// The serial after that of the newest message.
    private var end: UInt64
    /// The size of the envelopes, in bytes.
    private(set) var byteCount = 0

    /// Creates a ring without messages; the next one has the number `serial`.
    init(before serial: UInt64) { end = serial }

    /// The number of messages.
    var count: Int { entries.count - head }
    /// Whether there are no messages.
    var isEmpty: Bool { count == 0 }
    /// The serial of the oldest message; the next one's if there is none.
    var firstSerial: UInt64 { end - UInt64(count) }
    /// The time of the oldest message.
    var firstTime: Int64? { isEmpty ? nil : entries[head].time }

    /// Appends the message with a serial, which follows that of the message before; otherwise the ring keeps only this
    /// one.
    ///
    /// - Returns: The number of the oldest messages that are dropped for this one, by each limit.
    mutating func append(
        _ envelope: Envelope,
        serial: UInt64,
        except: SocketID?,
        at now: Int64,
        _ limits: SharedRule.Ring
    ) -> (byCount: Int, byBytes: Int) {
        if serial != end { removeAll(before: serial) }
        entries.append(Entry(envelope: envelope, time: now))
        end = serial + 1
        byteCount += envelope.byteCount
        if let except { exclusions.append((serial, except)) }
        var dropped = (byCount: 0, byBytes: 0)
        while count > limits.messagesMax {
            removeFirst()
            dropped.byCount += 1
        }
        while byteCount > limits.bytesMax {
            removeFirst()
            dropped.byBytes += 1
        }
        return dropped
    }

    /// Removes the oldest message.
    mutating func removeFirst() {
        byteCount -= entries[head].envelope.byteCount
        head += 1
        if head == entries.count {
            entries = []
            head = 0
        } else if head >= 32, head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
        while let first = exclusions.first, first.serial < firstSerial { exclusions.removeFirst() }
    }

    /// Removes all messages; the next one has the number `serial`.
    mutating func removeAll(before serial: UInt64) {
        entries = []
        head = 0
        exclusions = Queue()
        byteCount = 0
        end = serial
    }

    /// Removes the messages that are older than `time`.
    mutating func removeAll(olderThan time: Int64) {
        while let first = firstTime, first < time { removeFirst() }
    }

    /// The serial of the first message that is not older than `time`.
    func firstSerial(since time: Int64) -> UInt64 {
        // Times do not decrease.
        var range = head..<entries.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range =
                entries[middle].time < time
                ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return firstSerial + UInt64(range.lowerBound - head)
    }

    /// The messages from a serial on, at least ``firstSerial``, as a client gets them, in order.
    ///
    /// Messages that exclude one of the client's present and former connections are left out.
    func messages(from serial: UInt64, for socketIDs: [SocketID]) -> [ReplayedMessage] {
        var messages = entries[index(of: serial)...].map { ReplayedMessage.envelope($0.envelope) }
        for exclusion in exclusions(from: serial) where socketIDs.contains(exclusion.socketID) {
            messages[Int(exclusion.serial - serial)] = .leftOut(exclusion.serial)
        }
        return messages
    }

    /// The serial of the first of the last messages that together take at most `byteCountMax` bytes; at least `first`.
    ///
    /// If the last one is longer, the serial of the next message.
    func firstSerial(within byteCountMax: Int, from first: UInt64) -> UInt64 {
        var (serial, byteCount) = (end, 0)
        for entry in entries[index(of: max(first, firstSerial))...].reversed() {
            byteCount += entry.envelope.byteCount
            guard byteCount <= byteCountMax else { break }
            serial -= 1
        }
        return serial
    }

    /// All messages, in order, with `offset` milliseconds added to their times.
    func all(timesPlus offset: Int64) -> [StoredMessage] {
        let excluded = Dictionary(exclusions.elements.map { ($0.serial, $0.socketID) }) { $1 }
        return entries[head...].enumerated()
            .map { step, entry in
                let serial = firstSerial + UInt64(step)
                return StoredMessage(
                    serial: serial,
                    time: entry.time + offset,
                    except: excluded[serial],
                    envelope: entry.envelope
                )
            }
    }

    /// The kept messages of these times that a query requests, in its order, and whether there are more.
    ///
    /// The query's own times are ignored. `lengthMax` limits the size of the envelopes together; at least one message is
    /// returned.
    func page(
        _ query: HistoryQuery,
        within times: ClosedRange<Int64>,
        lengthMax: Int
    ) -> (messages: [(serial: UInt64, time: Int64, envelope: Envelope)], hasMore: Bool) {
        var found: [(serial: UInt64, time: Int64, envelope: Envelope)] = []
        var length = 0
        let first = max(firstSerial, query.after.map { $0 + 1 } ?? 0)
        let last = min(end, query.before ?? .max)
        guard first < last else { return ([], false) }
        let count = Int(last - first)
        for step in 0..<count {
            let serial = query.isNewestFirst ? last - 1 - UInt64(step) : first + UInt64(step)
            let entry = entries[index(of: serial)]
            guard times.contains(entry.time) else { continue }
            length += entry.envelope.byteCount
            guard found.count < query.limit, found.isEmpty || length <= lengthMax else {
                return (found, true)
            }
            found.append((serial, entry.time, entry.envelope))
        }
        return (found, false)
    }

    /// When a kept message was published, and the connection that it excludes; `nil` for any other serial.
    func details(of serial: UInt64) -> (time: Int64, except: SocketID?)? {
        guard serial >= firstSerial, serial < end else { return nil }
        let exclusion = exclusions(from: serial).first
        return (
            entries[index(of: serial)].time,
            exclusion?.serial == serial ? exclusion?.socketID : nil
        )
    }

    /// The exclusions of the messages from a serial on.
    private func exclusions(
        from serial: UInt64
    ) -> Queue<(serial: UInt64, socketID: SocketID)>.Elements {
        let all = exclusions.elements
        var range = all.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range =
                all[middle].serial < serial
                ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return all[range.lowerBound...]
    }

    private func index(of serial: UInt64) -> Int { head + Int(serial - firstSerial) }
}

/// A message of a replay.
public enum ReplayedMessage: Sendable, Equatable {
    /// The envelope as it was sent.
    case envelope(Envelope)
    /// A message with this number that excludes the client.
    case leftOut(UInt64)
}
