import Dispatch
import PusherProtocol
import Synchronization
import Testing

@testable import FanfareClient

/// A serial executor that can check whether it is the current one.
private final class TestExecutor: SerialExecutor, TaskExecutor {
    let queue = DispatchQueue(label: "test executor")
    private let key = DispatchSpecificKey<Bool>()

    init() { queue.setSpecific(key: key, value: true) }

    var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

/// A task executor.
private final class TestPool: TaskExecutor {
    let count = Atomic(0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        count.add(1, ordering: .relaxed)
        DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

@globalActor private actor TestActor {
    static let shared = TestActor()
}

/// Keeps the side tables of weak references to global actors reachable for the leak sanitizer: the pointer in the actor
/// itself is tagged, so the sanitizer does not recognise it.
private let globalActors = [WeakActor(actor: MainActor.shared), WeakActor(actor: TestActor.shared)]

private struct WeakActor: Sendable {
    weak let actor: (any Actor)?
}

@TestActor private var seenGlobally: [String] = []

/// A class that is not `Sendable`.
private final class Notes {
    var lines: [String] = []
}

private actor Store {
    private let notes = Notes()
    var lines: [String] { notes.lines }
    private var binding: Binding?
    private var statuses: [ConnectionStatus] = []
    private var errors: [FanfareError] = []

    func listen(to channel: Channel) {
        binding = channel.bind("e", isolation: #isolation) { event in
            self.notes.lines.append(event.data ?? "")
        }
    }

    func add(_ line: String) { notes.lines.append(line) }

    func unbindAndCount() -> Int {
        binding?.unbind()
        return notes.lines.count
    }

    func waitFor(_ count: Int) async {
        while notes.lines.count < count, !Task.isCancelled { await Task.yield() }
    }

    func watch(_ client: FanfareClient) {
        client.onStatusChange(isolation: #isolation) { self.statuses.append($1) }
        client.onError(isolation: #isolation) { self.errors.append($0) }
    }

    func watchUser(of client: FanfareClient) {
        client.user.bind("e", isolation: #isolation) {
            self.notes.lines.append("1 \($0.data ?? "")")
        }
    }

    func note(_ status: ConnectionStatus) { statuses.append(status) }
    func note(_ error: FanfareError) { errors.append(error) }

    func waitForStatuses(_ count: Int, errors errorCount: Int) async -> [ConnectionStatus] {
        while statuses.count < count || errors.count < errorCount, !Task.isCancelled {
            await Task.yield()
        }
        return statuses
    }
}

@Suite("Callback executors", .timeLimit(.minutes(1))) struct CallbackExecutorTests {
    private let numbers = (0..<1000).map { "\($0)" }

    init() { #expect(globalActors.allSatisfy { $0.actor != nil }) }

    @Test func runOnTheActorAroundInOrder() async {
        let bench = Bench()
        let store = Store()
        await store.listen(to: bench.client.channel("a"))
        let connection = await bench.subscribe(to: "a")
        for number in numbers { connection.event("e", "a", number) }
        await store.waitFor(numbers.count)
        #expect(await store.lines == numbers)
    }

    @Test func runOnAGlobalActor() async {
        let bench = Bench()
        let channel = bench.client.channel("a")
        await { @TestActor in
            let notes = Notes()
            channel.bind("e", isolation: #isolation) { event in
                TestActor.shared.assertIsolated()
                notes.lines.append(event.data ?? "")
                seenGlobally = notes.lines
            }
        }()
        let connection = await bench.subscribe(to: "a")
        for number in numbers { connection.event("e", "a", number) }
        while await seenGlobally.count < numbers.count, !Task.isCancelled { await Task.yield() }
        #expect(await seenGlobally == numbers)
    }

    @Test @MainActor func runOnTheMainActorInOneOrderWithTheOthers() async {
        let bench = Bench()
        let notes = Notes()
        let channel = bench.client.channel("a")
        channel.bind("e", isolation: #isolation) { notes.lines.append("1 \($0.data ?? "")") }
        channel.bind("e", on: MainActor.shared) { _, event in
            MainActor.assertIsolated()
        }
        let seen = Seen<String>()
        channel.bind("e") { seen.add($0.data ?? "") }
        let connection = await bench.subscribe(to: "a")
        for number in numbers { connection.event("e", "a", number) }
        while seen.all.count < numbers.count, !Task.isCancelled { await Task.yield() }
        #expect(notes.lines == numbers.map { "1 \($0)" })
    }

    @Test func runOnAnActorThatIsNamed() async {
        let bench = Bench()
        let store = Store()
        bench.client.channel("a").bind("e", on: store) { store, event in
            store.add(event.data ?? "")
        }
        bench.client.channel("a").bind(EventName<Int>("n"), on: store) { store, number in
            store.add("typed \(number)")
        }
        bench.client.bind("n", on: store) { store, event in store.add("any \(event.data ?? "")") }
        let connection = await bench.subscribe(to: "a")
        for number in numbers { connection.event("e", "a", number) }
        connection.event("n", "a", "7")
        await store.waitFor(numbers.count + 2)
        #expect(await store.lines == numbers + ["typed 7", "any 7"])
    }

    @Test func reportStatusAndErrorsOnAnActor() async {
        for isNamed in [true, false] {
            let bench = Bench()
            let store = Store()
            if isNamed {
                bench.client.onStatusChange(on: store) { store, _, new in store.note(new) }
                bench.client.onError(on: store) { store, error in store.note(error) }
            } else {
                await store.watch(bench.client)
            }
            let connection = await bench.subscribe(to: "a")
            connection.deliver(.error(code: nil, message: "hm"))
            #expect(
                await store.waitForStatuses(2, errors: 1)
                    == [.connecting(attempt: 1), .connected(socketID: "1.2")]
            )
        }
    }

    @Test func deliverAUsersEventsOnAnActor() async {
        let ann = #"{"id":"7"}"#
        let bench = Bench {
            $0.userAuthenticator = UserAuthenticator { _ in
                UserAuthentication(auth: "k:s", userData: ann)
            }
        }
        let store = Store()
        await store.watchUser(of: bench.client)
        bench.client.user.bind("e", on: store) { store, event in
            store.add("2 \(event.data ?? "")")
        }
        bench.client.onSignIn(on: store) { store, _ in store.add("signed in") }
        bench.client.signIn()
        bench.client.connect()
        let connection = await bench.transport.greet()
        _ = await connection.next()
        connection.deliver(.signinSuccess(userData: ann))
        connection.event("e", "#server-to-user-7", "x")
        await store.waitFor(3)
        #expect(await store.lines == ["signed in", "1 x", "2 x"])
    }

    @Test func reportPresenceOnAnActor() async {
        let bench = Bench {
            $0.channelAuthorizer = ChannelAuthorizer { _, _ in
                ChannelAuthorization(auth: "k:s", channelData: #"{"user_id":"1"}"#)
            }
        }
        let store = Store()
        let presence = bench.client.channel("presence-a").presence
        presence.onChange(on: store) { store, change in store.add("\(change.joined.count) came") }
        presence.onJoin(on: store) { store, member in store.add("+\(member.id)") }
        presence.onLeave(on: store) { store, member in store.add("-\(member.id)") }
        bench.client.subscribe("presence-a")
        bench.client.connect()
        let connection = await bench.transport.greet()
        _ = await connection.next()
        let roster = #"{"presence":{"count":1,"ids":["1"],"hash":{"1":null}}}"#
        connection.deliver(.subscriptionSucceeded(channel: "presence-a", data: roster))
        connection.event("pusher_internal:member_added", "presence-a", #"{"user_id":"2"}"#)
        connection.event("pusher_internal:member_removed", "presence-a", #"{"user_id":"2"}"#)
        await store.waitFor(5)
        #expect(await store.lines == ["0 came", "1 came", "+2", "0 came", "-2"])
    }

    @Test func deliverNothingOnceUnbindHasReturned() async {
        for round in 0..<200 {
            let bench = Bench()
            let store = Store()
            await store.listen(to: bench.client.channel("a"))
            let connection = await bench.subscribe(to: "a")
            let sender = Task.detached {
                for number in 0..<500 { connection.event("e", "a", "\(number)") }
            }
            await store.waitFor(round % 7)
            let count = await store.unbindAndCount()
            await sender.value
            // After all events that may be in flight.
            bench.client.channel("a").bind("end", on: store) { store, _ in store.add("end") }
            connection.event("end", "a", nil)
            await store.waitFor(count + 1)
            #expect(await store.lines.last == "end")
            #expect(await store.lines.count == count + 1)
        }
    }

    @Test func runOnASerialExecutor() async {
        let bench = Bench()
        let executor = TestExecutor()
        let seen = Seen<String>()
        let callsElsewhere = Atomic(0)
        bench.client.channel("a").bind("e", on: .executor(executor)) { event in
            if !executor.isCurrent { callsElsewhere.add(1, ordering: .relaxed) }
            seen.add(event.data ?? "")
        }
        let connection = await bench.subscribe(to: "a")
        for number in numbers { connection.event("e", "a", number) }
        while seen.all.count < numbers.count, !Task.isCancelled { await Task.yield() }
        #expect(seen.all == numbers)
        #expect(callsElsewhere.load(ordering: .relaxed) == 0)
    }

    @Test func runOnATaskExecutorOneAfterTheOther() async {
        let bench = Bench()
        let pool = TestPool()
        let seen = Seen<String>()
        let isBusy = Atomic(false)
        let overlaps = Atomic(0)
        bench.client.channel("a").bind("e", on: .taskExecutor(pool)) { event in
            if isBusy.exchange(true, ordering: .acquiringAndReleasing) {
                overlaps.add(1, ordering: .relaxed)
            }
            seen.add(event.data ?? "")
            isBusy.store(false, ordering: .releasing)
        }
        let connection = await bench.subscribe(to: "a")
        for number in numbers { connection.event("e", "a", number) }
        while seen.all.count < numbers.count, !Task.isCancelled { await Task.yield() }
        #expect(seen.all == numbers)
        #expect(overlaps.load(ordering: .relaxed) == 0)
        #expect(pool.count.load(ordering: .relaxed) > 0)
    }

    @Test func retainNoActor() async {
        let bench = Bench { $0.maxPendingCallbacks = 10 }
        weak var gone: Store?
        do {
            let store = Store()
            gone = store
            bench.client.channel("a").bind("e", on: store) { store, event in
                store.add(event.data ?? "")
            }
        }
        while gone != nil, !Task.isCancelled { await Task.yield() }
        let connection = await bench.subscribe(to: "a")
        for number in numbers { connection.event("e", "a", number) }
        // The actor is deallocated: nothing waits, and reading is not paused.
        bench.client.disconnect()
        #expect(await connection.next() == .close(code: 1000))
    }

    @Test func holdReadingUpAndLetItGoOn() async {
        let bench = Bench { $0.maxPendingCallbacks = 10 }
        let executor = TestExecutor()
        let seen = Seen<String>()
        bench.client.channel("a").bind("e", on: .executor(executor)) { seen.add($0.data ?? "") }
        let connection = await bench.subscribe(to: "a")
        executor.queue.suspend()
        for number in 0..<11 { connection.event("e", "a", "\(number)") }
        #expect(await connection.next() == .pauseReading)
        executor.queue.resume()
        #expect(await connection.next() == .resumeReading)
        #expect(seen.all.count == 11)
    }
}
