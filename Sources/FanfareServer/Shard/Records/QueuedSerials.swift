import Net
import PusherProtocol

extension Stream {
    /// The serials of the first queued message of each channel that has one.
    ///
    /// - Parameter messagesMax: The maximum number of messages to examine.
    /// - Returns: The serials by channel, and whether they are complete; they are not if there are more messages, or
    ///   compressed ones.
    func queuedSerials(
        messagesMax: Int = 1_000
    ) -> (serials: [String: UInt64], areComplete: Bool) {
        var serials: [String: UInt64] = [:]
        var (rest, areComplete) = (messagesMax, true)
        forEachUnsentBuffer { buffer in
            var position = 0
            while rest > 0, position + 2 <= buffer.count {
                let header = EventFrame.headerLength(buffer, at: position)
                guard position + header <= buffer.count else { return false }
                let length = EventFrame.payloadLength(buffer, at: position)
                let end = position + header + length
                guard end <= buffer.count else { return false }
                rest -= 1
                // RSV1 (RFC 6455 §5.2) marks a compressed message (RFC 7692 §6).
                if buffer[position] & 0x40 != 0 {
                    areComplete = false
                } else if buffer[position] == 0x81 {
                    let payload = buffer.span.extracting(position + header..<end)
                    if let (channel, serial) = Self.number(of: payload), serials[channel] == nil {
                        serials[channel] = serial
                    }
                }
                position = end
            }
            return rest > 0
        }
        return (serials, areComplete && rest > 0)
    }

    private static func number(of message: Span<UInt8>) -> (channel: String, serial: UInt64)? {
        switch try? ServerMessage.parse(message) {
        case .event(let event)?:
            event.channel.flatMap { channel in event.serial.map { (channel, $0) } }
        case .position(let channel, let serial, _)?: serial.map { (channel, $0) }
        default: nil
        }
    }
}

extension EventFrame {
    /// The length of the payload of an unmasked frame (RFC 6455 §5.2).
    fileprivate static func payloadLength(_ bytes: [UInt8], at start: Int) -> Int {
        let header = headerLength(bytes, at: start)
        guard header > 2 else { return Int(bytes[start + 1] & 0x7F) }
        return bytes[start + 2..<start + header].reduce(0) { $0 << 8 | Int($1) }
    }
}
