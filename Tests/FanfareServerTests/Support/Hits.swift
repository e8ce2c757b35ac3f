import PusherProtocol
import Testing

@testable import FanfareServer

extension TestBroker {
    /// A metric's value; `nil` when there is none with this name and these labels.
    func metric(_ series: String) async -> Int? {
        await server.metrics.split(separator: "\n")
            .first { $0.hasPrefix(series + " ") }
            .flatMap { Int($0.dropFirst(series.count + 1)) }
    }

    /// The number of hits of a limit.
    func hits(_ limit: Limit) async -> Int {
        await metric(#"fanfare_limit_hits_total{limit="\#(limit.rawValue)"}"#) ?? -1
    }

    /// Connects, and expects to be closed with a code.
    func expectRefusal(
        _ code: Int,
        target: String = "/app/app-key?protocol=7",
        fields: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let client = try await WebSocketWire(port: port, target: target, fields: fields)
        try await client.expectEnd(code, sourceLocation: sourceLocation)
    }

    /// The number of admitted clients of `count` concurrent ones; none stays connected.
    func admittedCount(of count: Int, fields: String = "") async throws -> Int {
        let wires = try (0..<count).map { _ in try Wire(port: port) }
        for wire in wires { try wire.send(WebSocketWire.upgrade(fields: fields)) }
        var admitted = 0
        for wire in wires {
            _ = try await wire.read(through: "\r\n\r\n")
            let event = try await wire.read(through: #""data""#)
            if event.contains("connection_established") { admitted += 1 }
        }
        return admitted
    }

    /// Whether a client is admitted; it stays connected as long as the returned value lives.
    func admitted(fields: String = "") async throws -> WebSocketWire? {
        let client = try await WebSocketWire(port: port, fields: fields)
        return try await client.nextText().contains("connection_established") ? client : nil
    }
}
