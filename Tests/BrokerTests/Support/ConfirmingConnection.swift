import PusherProtocol

@testable import Broker

/// The cursors of one connection, as a class, because `#expect` takes no mutating calls.
///
/// Times are milliseconds.
final class ConfirmingConnection {
    var cursors = TokenCursors()
    let stream = StreamID(bits: 1)

    func begin(
        _ channel: String = "a",
        at serial: UInt64 = 0,
        replay: Int? = nil,
        gap: RecoveryGap? = nil,
        hasOpening: Bool = false
    ) throws {
        let position = ChannelPosition(stream: stream, serial: serial)
        var start = SubscriptionStart(position, replay.map { .recovered(replay: $0) } ?? .began)
        start.hasOpening = hasOpening
        cursors.begin(try ChannelName(channel), start, gap: gap)
        if let replay { try self.replay(upTo: serial + UInt64(replay), channel) }
    }

    func replay(upTo serial: UInt64, _ channel: String = "a", length: Int = 0) throws {
        cursors.replay(upTo: serial, of: try ChannelName(channel), length: length)
    }

    @discardableResult
    func handOver(_ serial: UInt64, _ channel: String = "a") throws -> UInt64? {
        cursors.handOver(serial, of: try ChannelName(channel))
    }

    func handOver(upTo marks: [String: UInt64]) { cursors.handOver { marks[$0.text] } }

    func ask(
        at now: Int64,
        behind occasion: ConfirmationPings.Occasion = .messages
    ) -> ConfirmationPings.Request? {
        cursors.ask(at: now, behind: occasion)
    }

    @discardableResult
    func pong() -> [String] { cursors.receivePong().map(\.text) }
    func pongFrame(_ number: UInt16, at now: Int64) {
        _ = cursors.receivePongFrame(number, at: now)
    }

    func beginCheck() -> ConfirmationPings.Request { cursors.beginCheck() }
    func passesCheck(_ frame: UInt16?) -> Bool { cursors.passesCheck(frame) }

    func cursor(_ channel: String = "a", at end: Int64 = 0) -> SessionCursor? {
        cursors.confirmed(at: end).first { $0.channel.text == channel }
    }

    func confirmed(_ channel: String = "a", at end: Int64 = 0) -> UInt64? {
        cursor(channel, at: end)?.position.serial
    }
}
