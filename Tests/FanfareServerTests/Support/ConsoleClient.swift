import Foundation
import Testing

@testable import FanfareServer

/// The console's page as a client without a browser.
struct ConsoleClient {
    let port: UInt16
    /// The value of the session's cookie, if the console has a password.
    var cookie: String?

    /// What the broker tells a page.
    struct Session: Decodable {
        struct App: Decodable {
            var id: String
            var key: String
            var secret: String?
        }

        var key: String
        var channel: String
        var payloads: Bool
        var hasPassword: Bool
        var apps: [App]
    }

    /// A batch of what happened.
    struct Batch: Decodable {
        struct Record: Decodable {
            var kind: String
            var app: String
            var channel: String?
            var event: String?
            var data: String?
            var length: Int?
            var socket: String?
            var user: String?
        }

        var records: [Record]
        var omitted: Int
    }

    /// An event as the page gets it.
    private struct Envelope: Decodable {
        var event: String
        var data: String
    }

    func request(
        _ method: String,
        _ target: String,
        fields: String = "X-Fanfare-Console: 1\r\n",
        host: String = "localhost",
        body: String = ""
    ) async throws -> Answer {
        let wire = try Wire(port: port)
        let cookie = cookie.map { "Cookie: a=b; fanfare_console=\($0)\r\n" } ?? ""
        try wire.send(
            "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n\(fields)\(cookie)"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
        return try await wire.answer()
    }

    func session() async throws -> Session {
        let answer = try await request("GET", "/console/session")
        #expect(answer.status == 200)
        return try JSONDecoder().decode(Session.self, from: Data(answer.body.utf8))
    }

    /// Subscribes as the page does.
    func subscribed() async throws -> WebSocketWire {
        let session = try await session()
        let client = try await WebSocketWire(port: port, target: "/app/\(session.key)?protocol=7")
        let socketID = try await client.socketID()
        let answer = try await request(
            "POST",
            "/console/authorize",
            body: "socket_id=\(socketID)&channel_name=\(session.channel)"
        )
        let auth = try #require(
            try JSONDecoder().decode([String: String].self, from: Data(answer.body.utf8))["auth"]
        )
        try client.send(
            #"{"event":"pusher:subscribe","data":{"channel":"\#(session.channel)","auth":"\#(auth)"}}"#
        )
        #expect(try await client.nextText().contains("subscription_succeeded"))
        return client
    }

    /// The data of the next event of a name, as the page gets it.
    static func next<Value: Decodable>(
        _ name: String,
        on client: WebSocketWire
    ) async throws -> Value {
        while true {
            let text = try await client.nextText()
            let envelope = try JSONDecoder().decode(Envelope.self, from: Data(text.utf8))
            guard envelope.event == name else { continue }
            return try JSONDecoder().decode(Value.self, from: Data(envelope.data.utf8))
        }
    }

    /// Reads batches until one has a record that fits.
    static func record(
        on client: WebSocketWire,
        where fits: (Batch.Record) -> Bool
    ) async throws -> Batch.Record {
        while true {
            let batch: Batch = try await next("events", on: client)
            if let record = batch.records.first(where: fits) { return record }
        }
    }
}
