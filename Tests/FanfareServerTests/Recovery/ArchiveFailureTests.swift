import BrokerConfiguration
import Foundation
import PusherProtocol
import SQLite
import Testing

@testable import FanfareServer

/// Another process that keeps the archive's file from being written.
private final class FileHolder {
    private let connection: SQLiteConnection

    init(_ path: String) throws {
        connection = try SQLiteConnection(path: path, busyTimeout: 5_000)
        try connection.execute("BEGIN IMMEDIATE")
    }

    func release() throws {
        try connection.execute("ROLLBACK")
        connection.close()
    }
}

@Suite("An archive that cannot be written", .timeLimit(.minutes(2))) struct ArchiveFailureTests {
    @Test("Events are refused, and nothing of them is seen") func refuses() async throws {
        let stored = try StoredBroker()
        try await stored.run(loops: 2) { broker in
            let device = try await TrackingWire(broker, "stored")
            #expect(try await broker.trigger("1", on: "stored", members: "").status == 200)
            let holder = try FileHolder(stored.path)
            let late = try await broker.trigger("2", on: "stored", members: "")
            #expect(late.status == 503 && late.head.contains("Retry-After: 1"))
            #expect(late.body.hasPrefix("The archive cannot be written"), "\(late.body)")
            // From here on at once.
            let start = ContinuousClock.now
            #expect(try await broker.trigger("3", on: "stored", members: "").status == 503)
            #expect(ContinuousClock.now - start < .seconds(3))
            #expect(try await broker.trigger("1", on: "other", members: "").status == 200)
            try holder.release()
            try await eventually {
                try await broker.trigger("4", on: "stored", members: "").status == 200
            }
            #expect(try await device.next(2) == ["1", "4"])
            #expect(await broker.metric("fanfare_store_failures_total") ?? 0 > 0)
            #expect(await broker.metric("fanfare_store_unstored_bytes") == 0)
        }
    }

    @Test("when_failing: memory goes on with other stream IDs") func continuesInMemory()
        async throws
    {
        var stored = try StoredBroker()
        stored.change = { $0.recovery.whenFailing = .memory }
        let last = try await stored.run { broker in
            let device = try await TrackingWire(broker, "stored")
            #expect(try await broker.trigger("1", on: "stored", members: "").status == 200)
            let holder = try FileHolder(stored.path)
            #expect(try await broker.trigger("2", on: "stored", members: "").status == 200)
            let durable = #","durable":true"#
            #expect(try await broker.trigger("3", on: "stored", members: durable).status == 503)
            #expect(try await device.next(2) == ["1", "2"])
            let second = try await TrackingWire(broker, "stored")
            #expect(second.position.stream != device.position.stream)
            try holder.release()
            try await eventually {
                try await broker.trigger("4", on: "stored", members: durable).status == 200
            }
            #expect(try await device.next(1) == ["4"])
            // What came between is not in the file: nobody may take it for complete.
            for former in [device, second] {
                let back = try await TrackingWire(broker, "stored", behind: former)
                guard case .gap(let gap) = back.start.continuity else {
                    Issue.record("\(back.start)")
                    continue
                }
                #expect(gap.reason == .unknownStream)
            }
            let third = try await TrackingWire(broker, "stored")
            return third.position
        }
        try await stored.run { broker in
            #expect(try await broker.trigger("5", on: "stored", members: "").status == 200)
            let device = try await TrackingWire(broker, "stored", position: last)
            #expect(device.start.continuity == .recovered(replay: 1))
            #expect(try await device.next(1) == ["5"])
        }
    }

    @Test("A malformed file is set aside, and begun anew") func malformed() async throws {
        let stored = try StoredBroker()
        let position = try await stored.run { broker in
            #expect(try await broker.trigger("1", on: "stored", members: "").status == 200)
            return try await TrackingWire(broker, "stored").position
        }
        try Data(repeating: 7, count: 20_000).write(to: URL(filePath: stored.path))
        try await stored.run { broker in
            let device = try await TrackingWire(broker, "stored", position: position)
            guard case .gap = device.start.continuity else {
                Issue.record("\(device.start)")
                return
            }
            #expect(try await broker.trigger("2", on: "stored", members: "").status == 200)
        }
        let folder = (stored.path as NSString).deletingLastPathComponent
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.contains { $0.hasPrefix("history.sqlite.malformed-") }, "\(names)")
    }

    @Test(
        "A damaged row is a gap that the client is notified of",
        arguments: [
            "UPDATE messages SET text = x'81' WHERE serial = 3",
            "UPDATE messages SET text = x'' WHERE serial = 3",
            "UPDATE messages SET serial = -7 WHERE serial = 3",
            "UPDATE messages SET time_ms = -9223372036854775807 - 1 WHERE serial = 3",
            "DELETE FROM messages WHERE serial = 3", "UPDATE streams SET last = -1",
            "UPDATE streams SET last = 9223372036854775807",
        ],
        [false, true]
    )
    func damagedRow(statement: String, whileRunning: Bool) async throws {
        let stored = try StoredBroker()
        func damage() throws {
            let connection = try SQLiteConnection(path: stored.path, busyTimeout: 5_000)
            defer { connection.close() }
            try connection.execute(statement)
        }
        let position = try await stored.run { broker in
            let device = try await TrackingWire(broker, "stored")
            for number in 1...5 {
                let answer = try await broker.trigger("\(number)", on: "stored", members: "")
                #expect(answer.status == 200)
            }
            return device.position
        }
        if !whileRunning { try damage() }
        try await stored.run { broker in
            if whileRunning { try damage() }
            let answer = try await broker.history("stored")
            #expect(answer.status == 200, "\(answer)")
            let device = try await TrackingWire(broker, "stored", position: position)
            if case .recovered(let count) = device.start.continuity {
                // The rows of streams are read at the start.
                #expect(whileRunning && statement.contains("streams") && count == 5)
                return
            }
            #expect(await broker.metric("fanfare_store_damaged_rows_total") ?? 0 > 0)
            #expect(try await broker.trigger("6", on: "stored", members: "").status == 200)
            #expect(try await device.next(1) == ["6"])
        }
    }

    @Test("A file that is no longer at its path refuses events, until it is back")
    func misplaced() async throws {
        let stored = try StoredBroker()
        try await stored.run { broker in
            #expect(try await broker.trigger("1", on: "stored", members: "").status == 200)
            let away = stored.path + "-away"
            try FileManager.default.moveItem(atPath: stored.path, toPath: away)
            try await eventually { await broker.metric("fanfare_store_misplaced") == 1 }
            #expect(try await broker.trigger("2", on: "stored", members: "").status == 503)
            let wire = try Wire(port: broker.port)
            try wire.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
            let health = try await wire.answer()
            #expect(health.status == 503 && health.body.hasPrefix("archive file missing"))
            try FileManager.default.moveItem(atPath: away, toPath: stored.path)
            try await eventually {
                try await broker.trigger("3", on: "stored", members: "").status == 200
            }
            try wire.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await wire.answer().status == 200)
            #expect(await broker.metric("fanfare_store_misplaced") == 0)
        }
    }

    @Test("A second broker does not use the file") func inUse() async throws {
        let stored = try StoredBroker()
        try await stored.run { _ in
            await #expect(throws: StartError.self) { try await stored.run { _ in } }
        }
    }
}
