import Foundation
import TestProgram
import Testing

@testable import fanfare

@Suite("fanfare drain", .timeLimit(.minutes(1))) struct DrainTests {
    @Test("The broker ends, its client gets code 4200, and the command prints the time")
    func drains() async throws {
        let broker = try await RunningBroker()
        let listener = try RunningProgram(["listen", "news", "--url", broker.url()])
        #expect(await listener.errors.first(containing: "subscribed to news") != nil)
        let drain = try await Program.run(["drain", "--pid", "\(broker.program.id)"])
        #expect(drain.code == 0, "\(drain.errors)")
        let prefix = "Broker \(broker.program.id) stopped after "
        #expect(drain.output.hasPrefix(prefix))
        #expect(await broker.program.end() == 0)
        #expect(await listener.errors.first(containing: "4200") != nil)
    }

    @Test("The command may be repeated, unlike SIGTERM")
    func twice() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("fanfare.yaml")
        // The broker drains for longer than the test takes.
        try Data("shutdown: {notice: 300, deadline: 600}".utf8).write(to: URL(filePath: file))
        let broker = try await RunningBroker(["--config", file])
        let id = "\(broker.program.id)"
        for _ in 0..<3 {
            let drain = try await Program.run(["drain", "--pid", id, "--wait", "0"])
            #expect(drain.code == 0 && drain.output == "Broker \(id) is draining.\n")
        }
        #expect(await broker.program.errors.first(containing: "stopping") != nil)
        let late = try await Program.run(["drain", "--pid", id, "--wait", "1"])
        #expect(late.code == 1)
        #expect(late.errors.contains("Broker \(id) still runs after 1 s"))
        // One SIGTERM, as from a service manager, changes nothing; a second one ends the broker.
        broker.program.signal(SIGTERM)
        let later = try await Program.run(["drain", "--pid", id, "--wait", "0"])
        #expect(later.code == 0)
        broker.program.signal(SIGTERM)
        #expect(await broker.program.end() == 128 + SIGTERM)
    }

    @Test func aProcessThatIsNoBrokerIsLeftAlone() async throws {
        let own = ProcessInfo.processInfo.processIdentifier
        let drain = try await Program.run(["drain", "--pid", "\(own)"])
        #expect(drain.code == 1)
        #expect(drain.errors.contains("Process \(own) is not \"fanfare serve\""))
        let missing = try await Program.run(["drain", "--pid", "4194304"])
        #expect(missing.code == 1)
        #expect(missing.errors.contains("No process has the ID 4194304"))
    }

    @Test(arguments: [["--pid", "0"], ["--wait", "-1"], ["--wait", "86401"]])
    func invalidOptionsAreRejected(arguments: [String]) async throws {
        #expect(try await Program.run(["drain"] + arguments).code == 64)
    }

    @Test func theOnlyBrokerIsChosen() throws {
        #expect(try Drain.choose(among: [7]) == 7)
        #expect { try Drain.choose(among: []) } throws: { "\($0)".contains("No broker runs") }
        #expect { try Drain.choose(among: [7, 9]) } throws: {
            "\($0)" == "2 brokers run here: choose one with --pid, such as --pid 7 (7, 9)"
        }
    }

    @Test func handlersAreParsed() {
        let status = "Name:\tfanfare\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000004203\n"
        #expect(BrokerProcess.catches(SIGUSR1, status: status))
        #expect(!BrokerProcess.catches(SIGUSR2, status: status))
        #expect(!BrokerProcess.catches(SIGUSR1, status: "Name:\tfanfare\n"))
    }
}
