import HTTPServer
import Synchronization
import Testing

@testable import FanfareServer

/// A client that has nothing to do with an attack, and a backend that sends it numbered events all the while.
///
/// Whatever others do to the broker beside it, it must get every number once, in order and promptly.
enum Bystander {
    /// The channel on which nothing but the numbers may come.
    static let channel = "bystander"
    /// Longer than any machine is busy with something else, and far shorter than a broker that hangs.
    static let patience = Duration.seconds(10)

    /// How far the numbers are, and until when they go on.
    final class Course: Sendable {
        private let isOver = Atomic(false)
        private let receivedCount = Atomic(0)
        private let times = Mutex<[ContinuousClock.Instant]>([])

        var isRunning: Bool { !isOver.load(ordering: .acquiring) }
        /// How many numbers have come.
        var count: Int { receivedCount.load(ordering: .acquiring) }

        func end() { isOver.store(true, ordering: .releasing) }

        /// The next number is about to be triggered.
        func begin() -> Int {
            times.withLock {
                $0.append(.now)
                return $0.count - 1
            }
        }

        /// A number has come; returns how long that took.
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
        // Nothing came twice, or behind the end.
        try await client.expectNothing()
    }

    /// Triggers the numbers over a connection of its own; returns how many.
    private static func trigger(_ course: Course, at port: UInt16) async throws -> Int {
        let backend = try Wire(port: port)
        var count = 0
        while course.isRunning {
            try await trigger("\(course.begin())", over: backend)
            count += 1
            // Other tests want to have a share of the processor.
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
    /// Runs an attack on a broker whose other clients must not notice it, nor anything be left of it in the end.
    ///
    /// - Parameters:
    ///   - loops: The broker's shards; with one, attacker and bystander share it.
    ///   - change: What its configuration has instead of the development broker's.
    ///   - attack: The attack. The connections that it has opened are closed when it returns, at the latest.
    /// - Throws: What the attack throws, or the bystander's loss.
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
            // And it goes on.
            let count = course.count
            try await eventually { course.count > count + 1 }
            course.end()
            try await watched
        }
    }

    /// Whether anybody is subscribed to a channel.
    func isOccupied(_ channel: String) async throws -> Bool {
        let request = SignedRequest(method: "GET", path: "/apps/1/channels/\(channel)")
        return try await Wire(port: port).ask(request).body == #"{"occupied":true}"#
    }

    /// Expects that the bystander and its backend are all that the broker has.
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
