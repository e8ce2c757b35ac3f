import Broker
import BrokerConfiguration
import Foundation
import SQLite
import Testing

@testable import FanfareServer

@Suite("Sessions of stock clients over a restart of the broker") struct SessionRestartTests {
    private func trigger(
        _ broker: TestBroker,
        _ channel: String,
        _ data: String,
        except: String? = nil
    ) async throws {
        let members = except.map { #","socket_id":"\#($0)""# } ?? ""
        #expect(try await broker.trigger(data, on: channel, members: members).status == 200)
    }

    private func recovered(_ replay: Int) -> String { #"{"recovered":true,"replay":\#(replay)}"# }
    private let lost = #"{"recovered":false}"#

    private func gap(_ reason: String) -> String { #"pusher:gap {"reason":"\#(reason)"}"# }

    /// How the state of the broker is kept.
    enum Store: CaseIterable, CustomTestStringConvertible {
        case archive, spool

        var testDescription: String { self == .archive ? "archive" : "spool" }
    }

    /// A broker whose channels are kept over a stop.
    private func broker(_ store: Store) throws -> StoredBroker {
        var stored = try StoredBroker()
        guard store == .spool else { return stored }
        let path = stored.folder.path("spool")
        stored.change = {
            ($0.recovery.database, $0.recovery.spool) = (nil, path)
            $0.apps[0].recoveryRules[0].settings.store = .memory
        }
        return stored
    }

    @Test(
        "Behind a stop clients resume, and nobody is told of a gap",
        arguments: Store.allCases,
        [1, 3]
    )
    func stop(store: Store, loops: Int) async throws {
        let stored = try broker(store)
        let channels = ["stored-a", "stored-b", "stored-c"]
        let tokens = channels.map { _ in StockWire.token() }
        var firstID = ""
        try await stored.run(loops: loops) { broker in
            await broker.knowsAllSessions()
            for (channel, token) in zip(channels, tokens) {
                let client = try await StockWire(broker, token)
                firstID = client.socketID
                #expect(try await client.subscribe(to: channel) == "{}")
                try await trigger(broker, channel, "1")
                #expect(try await client.events(1) == ["1"])
                try await client.confirm()
                try await trigger(broker, channel, "2")
                #expect(try await client.events(1) == ["2"])
                // The last one is connected while the broker stops.
                if channel != channels.last { try await client.cut(broker) }
                try await trigger(broker, channel, "3", except: firstID)
                try await trigger(broker, channel, "4")
            }
        }
        let newToken = StockWire.token()
        // Another number of loops, and of homes.
        try await stored.run(loops: 4 - loops) { broker in
            for (channel, token) in zip(channels, tokens) {
                let client = try await StockWire(broker, token)
                #expect(try await client.subscribe(to: channel) == recovered(2))
                #expect(try await client.events(2) == ["2", "4"])
                #expect(try await client.subscribe(to: "stored-other") == "{}")
                try await trigger(broker, channel, "5")
                #expect(try await client.events(1) == ["5"])
            }
            let client = try await StockWire(broker, newToken)
            #expect(try await client.subscribe(to: channels[0]) == "{}")
        }
    }

    @Test("A channel in memory is told to be another one; a purged one, too")
    func otherStreams() async throws {
        let stored = try StoredBroker()
        let token = StockWire.token()
        try await stored.run { broker in
            await broker.knowsAllSessions()
            let client = try await StockWire(broker, token)
            for channel in ["memory", "stored"] { _ = try await client.subscribe(to: channel) }
            try await client.cut(broker)
            let purge = SignedRequest(method: "DELETE", path: "/apps/1/channels/stored/history")
            #expect(try await Wire(port: broker.port).ask(purge).status == 200)
        }
        try await stored.run { broker in
            let client = try await StockWire(broker, token)
            for channel in ["memory", "stored"] {
                #expect(try await client.subscribe(to: channel) == lost)
                #expect(try await client.events(1) == [gap("unknown_stream")])
            }
        }
    }

    @Test("A gap that was not confirmed is told behind the restart, too", arguments: Store.allCases)
    func owedGap(store: Store) async throws {
        var stored = try broker(store)
        let change = stored.change
        stored.change = {
            change(&$0)
            $0.apps[0].recovery.replayMessagesMax = 2
        }
        let token = StockWire.token()
        let told = #"pusher:gap {"reason":"too_much","missed":3}"#
        try await stored.run { broker in
            await broker.knowsAllSessions()
            let first = try await StockWire(broker, token)
            #expect(try await first.subscribe(to: "stored") == "{}")
            try await first.cut(broker)
            for data in ["1", "2", "3"] { try await trigger(broker, "stored", data) }
            let second = try await StockWire(broker, token)
            #expect(try await second.subscribe(to: "stored") == lost)
            #expect(try await second.events(1) == [told])
            try await second.cut(broker)
        }
        try await stored.run { broker in
            let third = try await StockWire(broker, token)
            #expect(try await third.subscribe(to: "stored") == lost)
            #expect(try await third.events(1) == [told])
        }
    }

    // MARK: - Crashes

    /// Copies the files of a running broker, as a killed one leaves them.
    private func copy(_ stored: StoredBroker, to other: StoredBroker) throws {
        for suffix in ["-mark", "", "-wal"] {
            try FileManager.default.copyItem(
                atPath: stored.path + suffix,
                toPath: other.path + suffix
            )
        }
    }

    /// All records of sessions in a running broker's file.
    private func records(_ stored: StoredBroker) throws -> [[UInt8]] {
        let connection = try SQLiteConnection(path: stored.path, busyTimeout: 1_000)
        defer { connection.close() }
        var records: [[UInt8]] = []
        try connection.forEachRow("SELECT record FROM sessions ORDER BY key") { row in
            records.append(row.blob("record"))
        }
        return records
    }

    /// The files of a broker that ended when they had a session's first confirmation; `nil` if more was written by then.
    private func crashed(_ token: String, _ lateToken: String) async throws -> StoredBroker? {
        let (stored, copied) = (try StoredBroker(), try StoredBroker())
        var isUnchanged = false
        try await stored.run { broker in
            await broker.knowsAllSessions()
            let client = try await StockWire(broker, token)
            #expect(try await client.subscribe(to: "stored-a") == "{}")
            try await trigger(broker, "stored-a", "1")
            #expect(try await client.events(1) == ["1"])
            try await client.confirm()
            try await eventually { try !records(stored).isEmpty }
            let written = try records(stored)
            // What is confirmed from here on is not written yet.
            try await trigger(broker, "stored-a", "2")
            #expect(try await client.events(1) == ["2"])
            try await client.confirm()
            #expect(try await client.subscribe(to: "stored-b") == "{}")
            let late = try await StockWire(broker, lateToken)
            #expect(try await late.subscribe(to: "stored-a") == "{}")
            try await trigger(broker, "stored-a", "3")
            try copy(stored, to: copied)
            isUnchanged = try records(stored) == written
        }
        return isUnchanged ? copied : nil
    }

    @Test("Behind a crash clients resume from some seconds before, and what is not known is told")
    func crash() async throws {
        let (token, lateToken) = (StockWire.token(), StockWire.token())
        var copied = try await crashed(token, lateToken)
        // A slow machine may write what the test means to lose.
        for _ in 0..<5 where copied == nil { copied = try await crashed(token, lateToken) }
        try await #require(copied).run(loops: 2) { broker in
            let client = try await StockWire(broker, token)
            // Sessions are written between the subscription and the first confirmation, or behind that.
            let answer = try await client.subscribe(to: "stored-a")
            #expect([recovered(3), recovered(2)].contains(answer), "\(answer)")
            if answer == recovered(3) { #expect(try await client.events(1) == ["1"]) }
            #expect(try await client.events(2) == ["2", "3"])
            // It may have been subscribed to that, and was.
            #expect(try await client.subscribe(to: "stored-b") == lost)
            #expect(try await client.events(1) == [gap("unknown_session")])
            for token in [lateToken, StockWire.token(in: 60)] {
                let unknown = try await StockWire(broker, token)
                #expect(try await unknown.subscribe(to: "stored-a") == lost)
                #expect(try await unknown.events(1) == [gap("unknown_session")])
            }
        }
    }

    @Test("A session that cannot be read is unknown, and counted") func damaged() async throws {
        let stored = try StoredBroker()
        let token = StockWire.token()
        try await stored.run { broker in
            await broker.knowsAllSessions()
            let client = try await StockWire(broker, token)
            _ = try await client.subscribe(to: "stored")
            try await client.cut(broker)
        }
        let connection = try SQLiteConnection(path: stored.path, busyTimeout: 0)
        try connection.execute("UPDATE sessions SET record = zeroblob(40)")
        connection.close()
        try await stored.run { broker in
            let client = try await StockWire(broker, token)
            #expect(try await client.subscribe(to: "stored") == lost)
            #expect(try await client.events(1) == [gap("unknown_session")])
            #expect(await broker.metric("fanfare_store_damaged_sessions_total") == 1)
        }
    }
}
