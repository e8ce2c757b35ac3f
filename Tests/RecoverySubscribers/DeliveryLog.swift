import FanfareClient
import Glibc
import Synchronization

/// What one subscriber has received on a channel, in order.
final class DeliveryLog: Sendable {
    /// Consecutive messages, or a gap.
    private enum Entry {
        case messages(first: Int, last: Int, serial: UInt64?)
        case gap(Gap.Reason)
    }

    private let channel: String
    private let entries = Mutex<[Entry]>([])

    /// Creates an empty log.
    ///
    /// - Parameter channel: The channel's name.
    init(channel: String) { self.channel = channel }

    /// Adds a delivery.
    func record(_ delivery: Delivery<ChannelEvent>) {
        switch delivery {
        case .event(let event, let position):
            received(number(of: event), serial: position?.serial)
        case .gap(let gap): entries.withLock { $0.append(.gap(gap.reason)) }
        case .recovered: break
        case .undecodable(let event, _): preconditionFailure("\(event) was not to be decoded")
        }
    }

    private func received(_ number: Int, serial: UInt64?) {
        entries.withLock { entries in
            if case .messages(let first, let last, let start)? = entries.last, last + 1 == number,
                start.map({ $0 + UInt64(number - first) }) == serial
            {
                entries[entries.count - 1] = .messages(first: first, last: number, serial: start)
            } else {
                entries.append(.messages(first: number, last: number, serial: serial))
            }
        }
    }

    /// The number that a message's data begins with.
    private func number(of event: ChannelEvent) -> Int {
        let digits = (event.data ?? "").prefix { $0 != " " }
        guard let number = Int(digits) else { preconditionFailure("\(event) has no number") }
        return number
    }

    /// The last number received; 0 without one.
    var last: Int {
        entries.withLock { entries in
            for case .messages(_, let last, _) in entries.reversed() { return last }
            return 0
        }
    }

    /// A member of a JSON object: the channel and its entries.
    var report: String {
        let entries = entries.withLock { $0 }
        let texts = entries.map { entry in
            switch entry {
            case .messages(let first, let last, let serial):
                "[\(first),\(last),\(serial.map(String.init) ?? "null")]"
            case .gap(let reason): "[\"gap\",\"\(reason)\"]"
            }
        }
        return "\"\(channel)\":[\(texts.joined(separator: ","))]"
    }
}

/// Writes what was printed; a pipe would keep it until its buffer is full.
func flushStandardOutput() {
    fflush(nil)
}
