import Broker
import PusherProtocol
import Shard

/// Encodes messages as lines of sessions over HTTP; one for all sessions of a shard, so that a channel's event is encoded
/// once for them.
final class LineEncoder: EnvelopeEncoder {
    func encode(_ envelope: Envelope) -> [UInt8] {
        line(envelope.frame.span.extracting(envelope.headerLength...))
    }

    func encode(_ message: ServerMessage) -> [UInt8] { line(message.bytes.span) }

    private func line(_ message: Span<UInt8>) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(message.count + message.count / 4 + 8)
        SessionLines.append(message, to: &line)
        return line
    }
}
