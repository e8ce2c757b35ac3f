import Foundation
import Logging
import SQLite
import Testing

@testable import Webhooks

@Suite("Each broker needs its own file", .timeLimit(.minutes(1))) struct WebhookFileLockTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path()
    }

    private var holder: String { "process \(ProcessInfo.processInfo.processIdentifier)" }

    private func webhooks(
        path: String? = nil,
        transport: ScriptedTransport = ScriptedTransport(),
        log: KeptLog = KeptLog()
    ) throws -> Webhooks {
        Webhooks(
            settings: WebhookSettings(path: path ?? self.path),
            apps: [app(endpoints: [endpoint()])],
            log: log.logger,
            clock: ManualClock(),
            random: SystemRandomNumberGenerator(),
            transport: transport
        )
    }

    @Test func aSecondBrokerIsRefusedWhileTheFirstRuns() async throws {
        let first = try webhooks()
        try await first.start()
        let link = folder.path("link.sqlite")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        for name in [path, link] {
            let second = try webhooks(path: name)
            await #expect(throws: WebhooksError.fileInUse(path: name, holder: holder)) {
                try await second.start()
            }
            await second.stop(within: .zero)
        }
        let other = folder.path("hard-link.sqlite")
        try FileManager.default.linkItem(atPath: path, toPath: other)
        let second = try webhooks(path: other)
        await #expect(throws: WebhooksError.self) { try await second.start() }
        await second.stop(within: .zero)
        await first.stop(within: .zero)
        let third = try webhooks()
        try await third.start()
        #expect(third.counters.isOnDisk)
        await third.stop(within: .zero)
    }

    @Test func aRunningBrokerWaitsForTheFileInMemory() async throws {
        let (first, log) = (try webhooks(), KeptLog())
        try await first.start()
        let transport = ScriptedTransport { _, number in
            number == 0 ? .answered(status: 200) : nil
        }
        let second = try webhooks(transport: transport, log: log)
        try await second.start(refusesFileInUse: false)
        #expect(!second.counters.isOnDisk)
        #expect(log.has(.error, "\(path) is in use by \(holder); each broker needs its own file"))
        second.report(.channelOccupied(channel("a")), of: appID)
        try await eventually { second.counters.delivered == 1 }
        await first.stop(within: .zero)
        await second.stop(within: .zero)
    }

    @Test(
        "The file of an unheld lock does not matter, whatever its content",
        arguments: ["", "1 host\n", "x"]
    )
    func abandoned(content: String) throws {
        try Data(content.utf8).write(to: URL(fileURLWithPath: path + "-lock"))
        let lock = try DatabaseLock(database: path)
        #expect(lock.isInPlace)
        let text = try String(contentsOfFile: path + "-lock", encoding: .utf8)
        #expect(text.hasPrefix("\(ProcessInfo.processInfo.processIdentifier) "))
        #expect(throws: DatabaseLockError.held(path: path, holder: holder)) {
            try DatabaseLock(database: path)
        }
    }

    @Test func aHolderOnAnotherMachineIsNamedWithIt() throws {
        let lock = try DatabaseLock(database: path)
        try Data("17 elsewhere\n".utf8).write(to: URL(fileURLWithPath: path + "-lock"))
        #expect(
            throws: DatabaseLockError.held(path: path, holder: "process 17 on elsewhere")
        ) {
            try DatabaseLock(database: path)
        }
        _ = lock
    }

    @Test func aLockIsAcquiredAgainAfterItsFileIsDeleted() async throws {
        let clock = ManualClock()
        let stage = try await Stage(
            settings: WebhookSettings(path: path),
            apps: [app(endpoints: [endpoint()])],
            clock: clock
        )
        try FileManager.default.removeItem(atPath: path + "-lock")
        try await eventually {
            await stage.advance(by: 500)
            return FileManager.default.fileExists(atPath: path + "-lock")
        }
        await stage.stop()
    }

    @Test("A lock file that another broker has recreated is left alone")
    func lostToAnother() async throws {
        let log = KeptLog()
        let first = try await Stage(
            settings: WebhookSettings(path: path),
            apps: [app(endpoints: [endpoint()])],
            transport: ScriptedTransport { _, _ in nil },
            log: log.logger
        )
        await first.report(.channelOccupied(channel("a")))
        try await eventually { try WebhookQueue(reading: path).deliveryCount() == 1 }
        for ending in ["", "-wal", "-shm", "-lock"] {
            try FileManager.default.removeItem(atPath: path + ending)
        }
        let second = try webhooks(transport: ScriptedTransport { _, _ in nil })
        try await second.start()
        second.report(.channelOccupied(channel("b")), of: appID)
        try await eventually { try WebhookQueue(reading: path).deliveryCount() == 1 }
        try await eventually {
            await first.advance(by: 500)
            return log.has(.error, "webhooks wait in memory", "is in use by \(holder)")
        }
        await first.stop()
        #expect(log.has(.error, "webhooks are lost", "app 1 http://backend.test/hooks: 1"))
        // The first must not remove the write-ahead log of the second, which has the same name.
        #expect(FileManager.default.fileExists(atPath: path + "-wal"))
        second.report(.channelOccupied(channel("c")), of: appID)
        try await eventually { try WebhookQueue(reading: path).deliveryCount() == 2 }
        await second.stop(within: .zero)
        #expect(try WebhookQueue(reading: path).deliveryCount() == 2)
    }
}
