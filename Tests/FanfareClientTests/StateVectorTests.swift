import FanfareTesting
import Synchronization
import Testing

@testable import FanfareClient

/// The vectors of states with the events that follow them: ``VectorTests`` says where the others are.
///
/// A reader is a task, so what a step lacks or has in excess is found at the end of the vector. The sequence reports
/// neither continuity nor requests: the other vectors have both.
@Suite("Vectors of states", .timeLimit(.minutes(2))) struct StateVectorTests {
    @Test("Each step loads and delivers what the vector names") func vectors() async throws {
        for vector in try Vector.read("states") { try await StatePlayer(vector).play() }
    }
}

/// Plays a vector with a client whose network and time the vector controls.
private final class StatePlayer {
    private struct Fault: Error {}

    /// The app's requests of states, oldest first.
    private final class Requests: Sendable {
        private struct State {
            var count = 0
            var waiting: [CheckedContinuation<ChannelPosition?, any Error>] = []
        }

        private let state = Mutex(State())

        var count: Int { state.withLock { $0.count } }

        @Sendable func load() async throws -> ChannelPosition? {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock {
                    $0.count += 1
                    $0.waiting.append(continuation)
                }
            }
        }

        func answer(_ outcome: Result<ChannelPosition?, any Error>) async {
            await eventually("a request of a state") { state.withLock { !$0.waiting.isEmpty } }
            state.withLock { $0.waiting.removeFirst() }.resume(with: outcome)
        }
    }

    private let vector: Vector
    private let bench = Bench()
    private let requests = Requests()
    private let seen = Seen<String>()
    private var lease: ChannelSubscription?
    private var reading: Task<Void, any Error>?
    private var connection: ScriptedConnection?
    private var connectionCount = 0

    init(_ vector: Vector) { self.vector = vector }

    func play() async throws {
        bench.client.connect()
        var expected: [String] = []
        var loads = 0
        for (index, step) in vector.steps.enumerated() {
            try await perform(step)
            expected += step.delivers.filter { $0 == "a: state" || $0.hasPrefix("a: e ") }
            loads += step.loads
            let place = "\(vector.name), step \(index + 1)"
            await eventually("\(place): \(expected), \(loads) loads") {
                if step.action == "until" { bench.clock.advance(by: .milliseconds(100)) }
                return seen.all.count >= expected.count && requests.count >= loads
            }
            #expect(seen.all == expected && requests.count == loads, "\(place)")
        }
        lease?.cancel()
        reading?.cancel()
    }

    private func perform(_ step: VectorStep) async throws {
        let argument = step.argument
        switch step.action {
        case "subscribe":
            lease = bench.client.channel("a").subscription(from: argument[1]?["position"]?.position)
        case "state": read()
        case "unsubscribe":
            lease?.cancel()
            reading?.cancel()
        case "open":
            let connection = await nextConnection()
            connectionCount += 1
            let data = #"{\"socket_id\":\"\#(connectionCount).1\",\"activity_timeout\":120}"#
            deliver(#"{"event":"pusher:connection_established","data":"\#(data)"}"#, to: connection)
            self.connection = connection
        case "ack":
            let data = JSON.string(argument[1]?.text ?? "").text
            let event = "pusher_internal:subscription_succeeded"
            deliver(#"{"event":"\#(event)","channel":"a","data":\#(data)}"#, to: connection)
        case "event":
            let serial = argument[1]?.integer ?? 0
            deliver(
                #"{"event":"e","channel":"a","data":"\#(serial)","serial":\#(serial)}"#,
                to: connection
            )
        case "cut": connection?.end(.cut(reason: ""))
        case "loaded":
            let fails = argument == .string("fails")
            await requests.answer(fails ? .failure(Fault()) : .success(argument.position))
        // What "until" waits for comes after both.
        case "wait", "until": break
        default: Issue.record("\(step.action) is not a step of a state")
        }
    }

    private func read() {
        guard let lease else { return }
        let deliveries = lease.deliveries("e", behind: requests.load, at: { $0 })
        let seen = seen
        reading = Task {
            for try await delivery in deliveries {
                switch delivery {
                case .state: seen.add("a: state")
                case .event(let event, _): seen.add("a: e \(event.data ?? "")")
                case .undecodable: break
                }
            }
        }
    }

    private func nextConnection() async -> ScriptedConnection {
        let transport = bench.transport
        async let connection = transport.accept()
        guard connectionCount > 0 else { return await connection }
        bench.clock.advance(by: .seconds(60))
        return await connection
    }

    private func deliver(_ text: String, to connection: ScriptedConnection?) {
        connection?.deliver(Array(text.utf8))
    }
}
