import Broker
import Foundation
import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Gateway

/// A stock client with a session token, which answers `pusher:ping` when the test says so.
struct StockWire {
    /// Whether the broker has asked for a confirmation.
    private final class Question {
        var isOpen = false
        /// Whether messages were received since, which the answer does not confirm.
        var isOld = false
    }

    let client: WebSocketWire
    let socketID: String
    private let question = Question()

    /// A token that is created now, or some seconds from now.
    static func token(in seconds: Int = 0) -> String {
        let time = Int64(Date().timeIntervalSince1970 * 1_000) + Int64(seconds) * 1_000
        let random = (0..<4).map { _ in String(UInt32.random(in: 0 ... .max), radix: 36) }
        return String(time, radix: 36) + "-" + random.joined(separator: "-") + "-0123456789abcdef"
    }

    init(
        _ broker: TestBroker,
        _ token: String,
        inKey: Bool = false,
        fields: String = ""
    ) async throws {
        let target = inKey ? "/app/app-key/r/\(token)" : "/r/\(token)/app/app-key"
        client = try await WebSocketWire(
            port: broker.port,
            target: target + "?protocol=7",
            fields: fields
        )
        socketID = try await client.socketID()
    }

    /// Subscribes, and returns the data of the acknowledgement.
    func subscribe(to channel: String, as user: String? = nil) async throws -> String {
        let data = user.map { #"{"user_id":"\#($0)"}"# }
        try client.send(subscribeMessage(to: channel, socketID: socketID, data: data))
        let text = try await next()
        let message = try ServerMessage.parse(Array(text.utf8).span)
        guard case .subscriptionSucceeded(channel, let data) = message else {
            Issue.record("\(text)")
            return text
        }
        return data
    }

    /// Unsubscribes, and returns when the broker has read that.
    func leave(_ channel: String) async throws {
        try client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#)
        try await pong()
    }

    /// The next message, whatever the broker asks meanwhile.
    func next() async throws -> String {
        while true {
            if let text = try await read() { return text }
        }
    }

    /// Reads the next frame, and returns its text unless it asks for a confirmation.
    private func read() async throws -> String? {
        let frame = try await client.next()
        guard frame.opcode == 1 else { return nil }
        if frame.text.contains(#""pusher:ping""#) {
            (question.isOpen, question.isOld) = (true, false)
            return nil
        }
        if !frame.text.contains(#""pusher:pong""#) { question.isOld = true }
        return frame.text
    }

    /// The data of the next events.
    func events(_ count: Int) async throws -> [String?] {
        var all: [String?] = []
        for _ in 0..<count {
            let text = try await next()
            guard case .event(let event) = try ServerMessage.parse(Array(text.utf8).span) else {
                all.append(text)
                continue
            }
            all.append(event.name == "e" ? event.data : "\(event.name) \(event.data ?? "")")
        }
        return all
    }

    /// Confirms everything that was received, and what comes until the broker asks.
    func confirm() async throws {
        var isPartial = true
        while isPartial {
            try await waitForPing()
            isPartial = question.isOld
            try await pong()
        }
    }

    /// Waits to be asked for a confirmation.
    func waitForPing() async throws {
        while !question.isOpen { _ = try await read() }
    }

    /// Answers `pusher:ping`, and returns when the broker has read that.
    func pong() async throws {
        question.isOpen = false
        try client.send(#"{"event":"pusher:pong","data":{}}"#)
        try client.send(#"{"event":"pusher:ping","data":{}}"#)
        while try await read()?.contains(#""pusher:pong""#) != true {}
    }

    /// Loses the connection, and returns when the broker knows.
    func cut(_ broker: TestBroker) async throws {
        let count = await broker.server.connectionCount
        client.wire.reset()
        try await eventually { await broker.server.connectionCount < count }
    }
}

extension TestBroker {
    /// Lets the broker take every token for one that it would know if it had been used.
    func knowsAllSessions() async {
        for shard in server.shards { await shard.restore(StoredSessions(isComplete: true)) }
    }
}
