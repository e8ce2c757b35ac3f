import BrokerConfiguration
import HTTPServer
import Synchronization
import Testing

@testable import FanfareServer

/// A healthy client beside an attack, and a backend that sends it numbered events continuously.
///
/// It must get every number once, in order and promptly.
enum Bystander {
    /// The channel of the numbers; no other events are expected.
    static let channel = "bystander"
    /// Longer than any delay of a busy machine, and far shorter than a broker that hangs.
    static let patience = Duration.seconds(10)

    /// The progress of the numbers, and their end.
    final class Course: Sendable {
        private let isOver = Atomic(false)
        private let receivedCount = Atomic(0)
        private let times = Mutex<[ContinuousClock.Instant]>([])

        var isRunning: Bool { !isOver.load(ordering: .acquiring) }
        /// The number of received numbers.
        var count: Int { receivedCount.load(ordering: .acquiring) }

        func end() { isOver.store(true, ordering: .releasing) }

        /// Called before the next number is triggered.
        func begin() -> Int {
            times.withLock {
                $0.append(.now)
                return $0.count - 1
            }
        }

        /// Called when a number was received; returns its latency.
        func receive(_ number: Int) -> Duration {
            receivedCount.store(number + 1, ordering: .releasing)
            return times.withLock { $0[number].duration(to: .now) }
        }
    }

    /// Receives the numbers until the course has ended, and expects each of them.
    static func watch(_ course: Course, at port: UInt16) async throws {
        let client = try await WebSocketWire(port: port)
        _ = try await client.socketID()
        try await client.subscribe(to: channel)
        async let triggeredCount = trigger(course, at: port)
        var number = 0
        var slowest = Duration.zero
        while true {
            let text = try await client.nextText()
            if text == event("end") { break }
            try #require(text == event("\(number)"), "nothing but the next number may come")
            slowest = max(slowest, course.receive(number))
            number += 1
        }
        #expect(try await triggeredCount == number)
        #expect(slowest < patience, "an event came after \(slowest)")
        // Nothing arrived twice, or after the end.
        try await client.expectNothing()
    }

    /// Triggers the numbers over a connection of its own; returns their number.
    private static func trigger(_ course: Course, at port: UInt16) async throws -> Int {
        let backend = try Wire(port: port)
        var count = 0
        while course.isRunning {
            try await trigger("\(course.begin())", over: backend)
            count += 1
            // Leaves processor time to other tests.
            try await Task.sleep(for: .milliseconds(10))
        }
        try await trigger("end", over: backend)
        return count
    }

    private static func trigger(_ data: String, over backend: Wire) async throws {
        let body = #"{"name":"number","channel":"\#(channel)","data":"\#(data)"}"#
        let answer = try await backend.ask(SignedRequest(path: "/apps/1/events", body: body))
        #expect(answer.status == 200, "\(answer.body)")
    }

    private static func event(_ data: String) -> String {
        eventText("number", channel, data: data)
    }
}

extension TestBroker {
    /// Runs an attack on a broker.
    ///
    /// Its other clients must not be affected, and nothing of the attack may remain.
    ///
    /// - Parameters:
    ///   - loops: The broker's shards; with one, attacker and bystander share it.
    ///   - change: The changes to the development configuration.
    ///   - attack: The attack. Its connections are closed when it returns, at the latest.
    /// - Throws: The error of the attack, or of the bystander.
    static func attacked(
        loops: Int = 1,
        _ change: (inout Configuration) -> Void = { _ in },
        by attack: (TestBroker) async throws -> Void
    ) async throws {
        try await run(loops: loops, change) { broker in
            let course = Bystander.Course()
            async let watched: Void = Bystander.watch(course, at: broker.port)
            try await eventually { course.count > 0 }
            try await attack(broker)
            try await broker.expectBystanderAlone()
            // The bystander still gets its numbers.
            let count = course.count
            try await eventually { course.count > count + 1 }
            course.end()
            try await watched
        }
    }

    /// Whether a channel has subscribers.
    func isOccupied(_ channel: String) async throws -> Bool {
        let request = SignedRequest(method: "GET", path: "/apps/1/channels/\(channel)")
        return try await Wire(port: port).ask(request).body == #"{"occupied":true}"#
    }

    /// Expects that the broker has no connections but those of the bystander and its backend.
    private func expectBystanderAlone() async throws {
        try await eventually {
            let (connectionCount, streamCount) = await (
                server.connectionCount, server.streamCount
            )
            return connectionCount == 1 && streamCount == 2
        }
        let request = SignedRequest(method: "GET", path: "/apps/1/channels")
        try await eventually {
            try await Wire(port: port).ask(request).body
                == #"{"channels":{"\#(Bystander.channel)":{}}}"#
        }
    }
}
