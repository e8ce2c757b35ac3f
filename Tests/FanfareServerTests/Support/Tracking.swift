import Foundation
import PusherProtocol
import Testing

/// A client that tracks its position on one channel, by the rules of docs/proof/protocol.md.
final class TrackingWire {
    let client: WebSocketWire
    let socketID: String
    let channel: String
    /// Where the subscription began.
    let start: SubscriptionStart
    private(set) var serial: UInt64

    /// Connects and subscribes.
    ///
    /// - Parameters:
    ///   - broker: The broker.
    ///   - channel: A channel of any kind but presence.
    ///   - former: The client that lost its connection.
    ///   - position: The position to resume from; `nil` for that of the former client, if there is one.
    ///   - members: Further members of the subscription's data.
    /// - Throws: What the wire throws, or ``TrackingError``.
    init(
        _ broker: TestBroker,
        _ channel: String,
        behind former: TrackingWire? = nil,
        position: ChannelPosition? = nil,
        members: String = ""
    ) async throws {
        self.channel = channel
        (client, socketID) = try await broker.connected()
        let known = position ?? former?.position
        let text = known.map { known in
            let socket = former.map { #","socket":"\#($0.socketID)""# } ?? ""
            return #"{"stream":"\#(known.stream)","serial":\#(known.serial)\#(socket)}"#
        }
        let message = subscribeMessage(to: channel, socketID: socketID)
        try client.send(message.dropLast(2) + #","position":\#(text ?? "{}")\#(members)}}"#)
        start = try await client.nextStart(on: channel)
        serial = start.position.serial
    }

    /// Reads the acknowledgement of a stream that takes the place of this one.
    func restart() async throws -> SubscriptionStart {
        try await client.nextStart(on: channel)
    }

    var position: ChannelPosition { ChannelPosition(stream: start.position.stream, serial: serial) }

    /// Reads the next message of the channel; `nil` for one that leaves this client out.
    func next() async throws -> String? {
        let text = try await client.nextText()
        let message = try ServerMessage.parse(Array(text.utf8).span)
        let (number, data): (UInt64?, String?) =
            switch message {
            case .event(let event): (event.serial, event.data)
            case .position(_, let serial, _): (serial, nil)
            default: (nil, nil)
            }
        #expect(number == serial + 1, "\(text)")
        serial += 1
        return data
    }

    /// Reads the next messages.
    func next(_ count: Int) async throws -> [String?] {
        var all: [String?] = []
        for _ in 0..<count { all.append(try await next()) }
        return all
    }

    /// Loses the connection.
    func cut() { client.wire.reset() }
}

enum TrackingError: Error {
    case notTracked(String)
}

extension WebSocketWire {
    /// The start that the next message acknowledges.
    fileprivate func nextStart(on channel: String) async throws -> SubscriptionStart {
        let text = try await nextText()
        let message = try ServerMessage.parse(Array(text.utf8).span)
        guard case .subscriptionSucceeded(channel, let data) = message,
            let start = SubscriptionStart(acknowledgement: data)
        else {
            Issue.record("\(text)")
            throw TrackingError.notTracked(text)
        }
        return start
    }
}
