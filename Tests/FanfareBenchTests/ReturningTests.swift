import Foundation
import TestPorts
import TestProgram
import Testing

@testable import FanfareBench

@Suite("Clients that come back", .timeLimit(.minutes(1))) struct ReturningTests {
    private func scenario(_ recovery: Recovery) throws -> OfflineCommand {
        try .with([
            "--clients", "5", "--away", "0.3", "--rate", "50", "--only-while-away",
            "--recovery", recovery.rawValue, "--within", "30",
        ])
    }

    @Test(arguments: [Recovery.none, .position])
    func lostEventsAreReported(_ recovery: Recovery) async throws {
        // This server has no positions.
        let report = try await TargetServer.report(on: scenario(recovery), .none)
        #expect(try #require(report.fault).contains(" lost"))
        #expect(report["deliveries"] == .integer(0))
    }

    @Test func areRefused() async throws {
        await #expect {
            try await TargetServer.report(on: scenario(.position), .refusesSubscriptions)
        } throws: { error in
            "\(error)".contains("was refused: AuthError")
        }
    }

    private func members(_ name: String, _ arguments: [String]) async throws -> [String: Any] {
        let result = try await Program.run(["bench", name, "--json", "-"] + arguments)
        #expect(result.code == 0, "\(result.errors)")
        return try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        )
    }

    @Test func getEverythingFromARealBroker() async throws {
        let broker = try await RunningBroker()
        let options = [
            "--url", broker.url(), "--clients", "20", "--away", "0.3", "--within", "60",
            "--rate", "100",
        ]
        let found = try await members("offline", options)
        #expect(found["lost"] as? Int == 0)
        #expect(found["repeated"] as? Int == 0)
        #expect(found["expected"] as? Int == found["deliveries"] as? Int)
        #expect(try #require(found["missed"] as? Int) > 0)
        #expect(try #require(found["missed_latency_us"] as? [String: Any]).count == 5)

        let stock = try await Program.run(["bench", "offline"] + options + ["--recovery", "none"])
        #expect(stock.code == 1)
        #expect(stock.errors.contains(" lost"))
    }

    @Test(arguments: [[], ["--kill"]]) func returnToARestartedBroker(_ kill: [String]) async throws
    {
        let (port, server) = (freePort(), Program.path)
        let found = try await members(
            "restart",
            ["--url", "ws://127.0.0.1:\(port)", "--clients", "20", "--within", "30"]
                + kill + ["--", server, "serve", "--port", "\(port)"]
        )
        #expect(found["subscribed"] as? Int == 20)
        #expect(try #require(found["returned_s"] as? Double) > 0)
        #expect(found["signal"] == nil)
        let parameters = found["parameters"] as? [String: Any]
        #expect(parameters?["signal"] as? String == (kill.isEmpty ? "SIGTERM" : "SIGKILL"))
    }

    @Test(arguments: [
        ([], "the command that starts the server is missing"),
        (["--", "/no/such/program"], "/no/such/program cannot be started: No such file"),
        (["--", "/bin/true"], "/bin/true does not listen on port 9"),
    ])
    func serversThatDoNotStartAreReported(_ command: [String], _ text: String) async throws {
        let arguments = ["bench", "restart", "--url", "ws://127.0.0.1:9"] + command
        let result = try await Program.run(arguments)
        #expect(result.code != 0)
        #expect(result.errors.contains(text), "\(result.errors)")
    }
}
