import Dispatch
import FanfareClient
import FanfareTesting
import Synchronization
import Testing

@Suite("Settling", .timeLimit(.minutes(1))) struct SettlingTests {
    private let clients = ClientsOfTest()

    @Test("Callbacks of an actor that is late have returned")
    func waitsForCallbacks() async throws {
        let broker = ScriptedBroker()
        let client = clients.add(to: broker)
        let received = Mutex(0)
        client.channel("a").bind("e") { @LateActor _ in received.withLock { $0 += 1 } }
        client.subscribe("a")
        client.connect()
        try await broker.waitForSubscribers(to: "a")
        // More than one block of callbacks.
        for number in 1...600 { try broker.trigger("e", on: "a", data: number) }
        try await broker.settle()
        #expect(received.withLock { $0 } == 600)
    }

    @Test("Callbacks of a status change that follows a callback have returned")
    func waitsForCallbacksOfCallbacks() async throws {
        let broker = ScriptedBroker()
        let client = clients.add(to: broker)
        let statuses = Mutex<[ConnectionStatus]>([])
        client.onStatusChange { @LateActor status in statuses.withLock { $0.append(status) } }
        client.channel("a").bind("e") { @LateActor [weak client] _ in client?.disconnect() }
        client.subscribe("a")
        client.connect()
        try await broker.waitForSubscribers(to: "a")
        try broker.trigger("e", on: "a", data: 1)
        try await broker.settle()
        #expect(statuses.withLock { $0.last } == .disconnected)
        #expect(broker.connections.isEmpty)
    }

    @Test("A callback that does not return is reported")
    func reportsAStuckCallback() async throws {
        let broker = ScriptedBroker()
        let client = clients.add(to: broker)
        let gate = DispatchSemaphore(value: 0)
        client.channel("a").bind("e") { @LateActor _ in gate.wait() }
        client.subscribe("a")
        client.connect()
        try await broker.waitForSubscribers(to: "a")
        try broker.trigger("e", on: "a", data: 1)
        await #expect {
            try await broker.settle([], within: .milliseconds(200))
        } throws: {
            "\($0)".contains("waiting for callbacks of the clients to return")
        }
        gate.signal()
        try await broker.settle()
    }
}

/// An actor on a queue of its own, which runs each of its jobs late.
@globalActor private actor LateActor {
    private final class Executor: SerialExecutor {
        private let queue = DispatchQueue(label: "late")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.asyncAfter(deadline: .now() + .milliseconds(50)) {
                job.runSynchronously(on: self.asUnownedSerialExecutor())
            }
        }
    }

    static let shared = LateActor()
    private nonisolated let executor = Executor()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }
}
