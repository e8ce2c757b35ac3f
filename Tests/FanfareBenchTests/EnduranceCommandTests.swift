import Foundation
import TestProgram
import Testing

@Suite("fanfare bench stalled and soak", .timeLimit(.minutes(1))) struct EnduranceCommandTests {
    /// A broker with short queues, with a port for TLS.
    private func broker(_ directory: TemporaryDirectory) async throws -> RunningBroker {
        let (certificate, key) = (directory.path("c.pem"), directory.path("k.pem"))
        _ = try await Program.run(
            ["keys", "certificate", "--certificate", certificate, "--key", key]
        )
        let file = directory.path("fanfare.yaml")
        let text = "limits: {queued_bytes_max: 128 KiB}\n"
        try Data(text.utf8).write(to: URL(filePath: file))
        return try await RunningBroker([
            "--config", file, "--tls-port", "0", "--tls-certificate", certificate, "--tls-key", key,
        ])
    }

    private func members(_ path: String) throws -> [String: Any] {
        let data = try Data(contentsOf: URL(filePath: path))
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }

    @Test func bothRunAgainstARealBroker() async throws {
        let directory = try TemporaryDirectory()
        let broker = try await broker(directory)
        let file = directory.path("result.json")

        // On a busy machine the latency of a two-second run is not reliable: it is not checked.
        let stalled = try await Program.run([
            "bench", "stalled", "--url", broker.url(), "--subscribers", "5", "--stalled", "5",
            "--seconds", "1", "--rounds", "1", "--size", "4096", "--backlog", "1", "--json", file,
        ])
        #expect(stalled.code == 0 || stalled.errors.contains("p99 latency with stalled readers"))
        #expect(stalled.output.contains("with stalled : alone"))
        let found = try members(file)
        #expect(found["lost"] as? Int == 0)
        #expect(found["unclosed"] as? Int == 0)
        #expect(found["p99_ratio"] is Double)

        let soak = try await Program.run([
            "bench", "soak", "--url", broker.url(), "--tls-url", broker.url("wss"),
            "--trust", directory.path("c.pem"), "--seconds", "2.5", "--warm-up", "0.5",
            "--settle", "0.5", "--residents", "16", "--rate", "200", "--slow", "4",
            "--backlog", "1", "--visitors", "20", "--json", file,
        ])
        let kept = try members(file)
        #expect(kept["all_lost"] as? Int == 0)
        #expect(kept["all_misplaced"] as? Int == 0)
        #expect(try #require(kept["tls_visitors_deliveries"] as? Int) > 0)
        #expect(try #require(kept["descriptors_after"] as? Int) > 0)
        // The warm-up of half a second is too short: the growth of memory is not checked.
        #expect(soak.code == 0 || soak.errors.contains("memory grew"), "\(soak.errors)")
        #expect(soak.errors.contains("0 lost, 0 misplaced, "), "\(soak.errors)")
    }
}
