import Foundation
import Testing

/// Tests in a separate process, with deterministic hashing.
@Suite("fanfare-simulate", .serialized) struct SimulationProgramTests {
    @Test("A seed repeats a run exactly", arguments: [[], ["--cluster"], ["--leases"]])
    func seedsRepeatRuns(options: [String]) throws {
        let first = try run(["--seeds", "15", "--hash"] + options)
        let second = try run(["--seeds", "15", "--hash"] + options)
        #expect(first.code == 0)
        #expect(first.output == second.output)
        #expect(
            Set(first.output.split(separator: "\n").map { $0.split(separator: " ").last }).count
                == 15
        )
    }

    @Test(
        "A failing run is reported with the command that repeats it, and shrunk"
    )
    func failuresAreTold() throws {
        let failed = try run("--seeds", "50", "--variant", "lostGrant")
        #expect(failed.code == 1)
        let seed = try #require(failed.output.firstMatch(of: /Seed (\d+) violates answers/)).1
        #expect(failed.output.contains(/\d+ of its \d+ steps do:/))
        let command = "--seed \(seed) --variant lostGrant --trace"
        #expect(failed.output.contains(command))
        let again = try run(command.split(separator: " ").map(String.init))
        #expect(again.code == 1)
        #expect(again.output.contains("Seed \(seed) violates answers"))
    }

    private func run(_ arguments: String...) throws -> (code: Int32, output: String) {
        try run(arguments)
    }

    private func run(_ arguments: [String]) throws -> (code: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "fanfare-simulate")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }
}
