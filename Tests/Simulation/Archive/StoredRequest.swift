import Foundation
import PusherProtocol

/// A request of a backend about a stored channel, on its own connection.
final class StoredRequest {
    /// An answer.
    struct Answer {
        let status: Int
        let body: String
    }

    let event: StoredEvent
    let pipe: Pipe
    private(set) var answer: Answer?
    private let isQuery: Bool
    private var received: [UInt8] = []

    /// Triggers an event.
    init(_ event: StoredEvent, _ pipe: Pipe, unixTime: Int64) {
        self.event = event
        self.pipe = pipe
        isQuery = false
        var body = #"{"name":"e","channel":"\#(event.channel)","data":"\#(event.id)""#
        body += #","info":"position""#
        if let key = event.key { body += #","idempotency_key":"\#(key)""# }
        if let condition = event.condition {
            let (stream, serial) = (condition.stream, condition.serial)
            body += #","if_position":{"stream":"\#(stream)","serial":\#(serial)}"#
        }
        if event.isDurable { body += #","durable":true"# }
        let path = "/apps/\(Scenario.appIDs[0])/events"
        let text = signedRequest("POST", path, body: body + "}", app: 0, unixTime: unixTime)
        pipe.enqueue(Array(text.utf8))
    }

    /// Asks for all messages of a channel.
    init(historyOf channel: String, _ pipe: Pipe, unixTime: Int64) {
        event = StoredEvent(id: 0, channel: channel, key: nil, isDurable: false)
        self.pipe = pipe
        isQuery = true
        let text = signedRequest(
            "GET",
            "/apps/\(Scenario.appIDs[0])/channels/\(channel)/history",
            parameters: [("limit", "1000")],
            app: 0,
            unixTime: unixTime
        )
        pipe.enqueue(Array(text.utf8))
    }

    /// Reads the answer to a trigger; `nil` while it is incomplete.
    func read() throws(Violation) -> Answer? {
        received += pipe.read(.max)
        let text = String(decoding: received, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n"),
            let field = text.firstRange(of: "Content-Length: ")
        else { return nil }
        let length = Int(text[field.upperBound...].prefix { $0.isNumber }) ?? 0
        guard text[end.upperBound...].utf8.count >= length else { return nil }
        answer = Answer(
            status: Int(text.dropFirst(9).prefix(3)) ?? 0,
            body: String(text[end.upperBound...])
        )
        pipe.close()
        return isQuery ? nil : answer
    }
}

extension StoredRequest.Answer {
    private struct Position: Decodable {
        let stream: String
        let serial: UInt64

        var position: ChannelPosition? {
            StreamID(stream).map { ChannelPosition(stream: $0, serial: serial) }
        }
    }

    private struct Triggered: Decodable {
        struct Channel: Decodable { let position: Position? }
        let channels: [String: Channel]?
    }

    private struct History: Decodable {
        struct Message: Decodable {
            let serial: UInt64
            let data: String
        }
        let position: Position
        let messages: [Message]
    }

    /// The position of a triggered event.
    func position(on channel: String) -> ChannelPosition? {
        let triggered = try? JSONDecoder().decode(Triggered.self, from: Data(body.utf8))
        return triggered?.channels?[channel]?.position?.position
    }

    /// The messages of a channel.
    var history: (messages: [(serial: UInt64, event: Int)], position: ChannelPosition)? {
        guard let history = try? JSONDecoder().decode(History.self, from: Data(body.utf8)),
            let position = history.position.position
        else { return nil }
        return (history.messages.map { ($0.serial, Int($0.data) ?? 0) }, position)
    }
}
