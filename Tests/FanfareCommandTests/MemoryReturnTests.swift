import CommandSupport
import Foundation
import PusherProtocol
import TestProgram
import Testing

@Suite("fanfare serve: memory after a peak", .timeLimit(.minutes(4))) struct MemoryReturnTests {
    /// A sanitizer's allocator keeps freed memory.
    private static var isSanitized: Bool {
        Program.inherited.keys.contains { $0.hasSuffix("SAN_OPTIONS") }
    }

    /// A signed trigger request of a megabyte, without its last byte.
    private static func partialTrigger() -> [UInt8] {
        let body = [UInt8](repeating: UInt8(ascii: " "), count: 1_000_000)
        let path = "/apps/1/events"
        let query = RequestSignature.sign(
            method: "POST",
            path: path,
            body: body.span,
            key: "app-key",
            secret: AppSecret("app-secret"),
            timestamp: Int64(Date().timeIntervalSince1970)
        )
        let head =
            "POST \(path)?\(query) HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.count)\r\n\r\n"
        return Array(head.utf8) + body.dropLast()
    }

    /// A connection that has sent these bytes and stays open.
    private final class Sender {
        private let descriptor: Int32

        init(_ bytes: [UInt8], port: UInt16) throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let status = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            try #require(status == 0)
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                try #require(count > 0)
                rest = rest.dropFirst(count)
            }
        }

        deinit { close(descriptor) }
    }

    private func residentMemory(of broker: RunningBroker) throws -> Int {
        let status = try #require(ProcFile.text(at: "/proc/\(broker.program.id)/status"))
        return try #require(ProcFile.byteCount(of: "VmRSS:", in: status))
    }

    /// Waits until the broker's resident memory satisfies a condition.
    private func wait(
        for broker: RunningBroker,
        until isEnough: (_ residentMemory: Int) -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(40)
        while case let memory = try residentMemory(of: broker), !isEnough(memory) {
            try #require(ContinuousClock.now < deadline, "\(memory) bytes")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test(
        "The memory of many request bodies is returned to the system",
        .enabled(if: !isSanitized)
    )
    func afterManyBodies() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("fanfare.yaml")
        // The shorter the timeouts, the more often the shards check their clients and their memory.
        let yaml = """
            apps: [{id: 1, key: app-key, secret: app-secret}]
            clients: {activity_timeout: 3, pong_timeout: 3}
            limits: {queued_bytes_total_max: 512 MiB}
            """
        try Data(yaml.utf8).write(to: URL(filePath: file))
        let broker = try await RunningBroker(["--config", file])
        let port = try #require(URL(string: broker.url())?.port.flatMap { UInt16(exactly: $0) })
        let before = try residentMemory(of: broker)
        // After a free, glibc allocates from its arenas instead of the system: the first wave leaves nothing behind,
        // the third would leave half of it.
        let trigger = Self.partialTrigger()
        for _ in 0..<3 {
            let senders = try (0..<50).map { _ in try Sender(trigger, port: port) }
            try await wait(for: broker) { $0 > before + 30_000_000 }
            #expect(senders.count == 50)
        }
        try await wait(for: broker) { $0 < before + 10_000_000 }
        broker.program.signal(SIGTERM)
        #expect(await broker.program.end() == 0)
    }
}
