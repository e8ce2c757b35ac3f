import Dispatch
import PusherProtocol
import Synchronization
import Testing

@testable import FanfareClient

@globalActor private actor TestActor {
    static let shared = TestActor()
}

/// Keeps the side tables of weak references to global actors reachable for the leak sanitizer: the pointer in the actor
/// itself is tagged, so the sanitizer does not recognise it.
private let globalActors = [WeakActor(actor: MainActor.shared), WeakActor(actor: TestActor.shared)]

private struct WeakActor: Sendable {
    weak let actor: (any Actor)?
}

/// A class that is not `Sendable`.
private final class Notes {
    var lines: [String] = []
}

/// State of the global actor, which its callbacks use directly.
@TestActor private final class GlobalNotes {
    let notes = Notes()

    func record(_ channel: Channel) {
        channel.bind("e") { event in
            TestActor.shared.assertIsolated()
            self.notes.lines.append(event.data ?? "")
        }
    }

    func lines() -> [String] { notes.lines }
}

@Suite("The isolation of callbacks", .timeLimit(.minutes(1))) struct CallbackIsolationTests {
    private let numbers = (0..<1000).map { "\($0)" }

    init() { #expect(globalActors.allSatisfy { $0.actor != nil }) }

    @Test("A closure in an actor runs on that actor, and uses its state directly")
    func onAnActor() async {
        let bench = Bench()
        let recorder = Recorder()
        await recorder.record(of: bench.client.channel("a"))
        let connection = await bench.subscribe(to: "a")
        for number in numbers { connection.event("e", "a", number) }
        #expect(await recorder.wait(for: numbers.count) == numbers)
    }

    @Test func onAGlobalActor() async {
        let bench = Bench()
        let notes = await GlobalNotes()
        await notes.record(bench.client.channel("a"))
        let connection = await bench.subscribe(to: "a")
        for number in numbers { connection.event("e", "a", number) }
        await eventually("all events") { await notes.lines().count >= numbers.count }
        #expect(await notes.lines() == numbers)
    }

    @Test("Callbacks of one actor run in one order, on the main actor too") @MainActor
    func onTheMainActor() async {
        let bench = Bench()
        let notes = Notes()
        let channel = bench.client.channel("a")
        channel.bind("e") { event in
            MainActor.assertIsolated()
            notes.lines.append("channel \(event.data ?? "")")
        }
        bench.client.bind("e") { notes.lines.append("client \($0.data ?? "")") }
        let connection = await bench.subscribe(to: "a")
        for number in numbers { connection.event("e", "a", number) }
        await eventually("all events") { notes.lines.count >= 2 * numbers.count }
        #expect(notes.lines == numbers.flatMap { ["channel \($0)", "client \($0)"] })
    }

    @Test("A closure that is isolated to no actor runs on the client's, one call at a time")
    func onTheClientsActor() async {
        let bench = Bench()
        let seen = Seen<String>()
        let isBusy = Atomic(false)
        let overlaps = Atomic(0)
        let client = bench.client
        // A closure that captured the client would keep it.
        let actor = client.callbackActor
        for channel in ["a", "b"] {
            client.channel(channel).bind("e") { event in
                actor.assertIsolated()
                if isBusy.exchange(true, ordering: .acquiringAndReleasing) {
                    overlaps.add(1, ordering: .relaxed)
                }
                seen.add(event.data ?? "")
                isBusy.store(false, ordering: .releasing)
            }
        }
        let connection = await bench.subscribe(to: "a")
        client.subscribe("b")
        #expect(await connection.confirm("b"))
        for (index, number) in numbers.enumerated() {
            connection.event("e", index.isMultiple(of: 2) ? "a" : "b", number)
        }
        await seen.wait(for: numbers.count)
        #expect(seen.all == numbers)
        #expect(overlaps.load(ordering: .relaxed) == 0)
    }

    @Test("A closure with a type that has no isolation leaves the main actor free") @MainActor
    func withoutIsolationByItsType() async {
        let bench = Bench()
        let seen = Seen<String>()
        let actor = bench.client.callbackActor
        let perform: @Sendable (ChannelEvent) -> Void = { event in
            actor.assertIsolated()
            seen.add(event.data ?? "")
        }
        bench.client.channel("a").bind("e", perform: perform)
        let connection = await bench.subscribe(to: "a")
        connection.event("e", "a", "1")
        await seen.wait(for: 1)
        #expect(seen.all == ["1"])
    }

    @Test func reportsStatusAndErrorsOnAnActor() async {
        let bench = Bench()
        let recorder = Recorder()
        await recorder.recordStatus(of: bench.client)
        let connection = await bench.subscribe(to: "a")
        connection.deliver(.error(code: nil, message: "hm"))
        #expect(
            await recorder.wait(for: 3) == [
                "connecting(attempt: 1)", #"connected(socketID: "1.2")"#, "reported",
            ]
        )
    }

    @Test func deliversAUsersEventsOnAnActor() async {
        let ann = #"{"id":"7"}"#
        let bench = Bench {
            $0.authorization.user = UserAuthenticator { _ in
                UserAuthentication(auth: "k:s", userData: ann)
            }
        }
        let recorder = Recorder()
        await recorder.recordUser(of: bench.client)
        bench.client.signIn()
        bench.client.connect()
        let connection = await bench.transport.greet()
        _ = await connection.next()
        connection.deliver(.signinSuccess(userData: ann))
        connection.event("e", "#server-to-user-7", "1")
        connection.deliver(.watchlist(online: ["bob"], offline: []))
        #expect(
            await recorder.wait(for: 4)
                == ["signed in as 7", "user 1", "typed 1", #"online ["bob"]"#]
        )
    }

    @Test func reportsMembersOnAnActor() async {
        let bench = Bench {
            $0.authorization.channels = ChannelAuthorizer { _, _ in
                ChannelAuthorization(auth: "k:s", channelData: #"{"user_id":"1"}"#)
            }
        }
        let recorder = Recorder()
        await recorder.recordMembers(of: bench.client.subscribe("presence-a"))
        bench.client.connect()
        let connection = await bench.transport.greet()
        _ = await connection.next()
        let roster = #"{"presence":{"count":1,"ids":["1"],"hash":{"1":null}}}"#
        connection.deliver(.subscriptionSucceeded(channel: "presence-a", data: roster))
        connection.event("pusher_internal:member_added", "presence-a", #"{"user_id":"2"}"#)
        connection.event("pusher_internal:member_removed", "presence-a", #"{"user_id":"2"}"#)
        #expect(
            await recorder.wait(for: 5)
                == ["0 joined, 0 left", "1 joined, 0 left", "+2", "0 joined, 1 left", "-2"]
        )
    }

    @Test("A callback of a facade runs on its queue, and those of one actor share an order")
    func onAQueue() async {
        let bench = Bench()
        let queue = DispatchQueue(label: "test")
        let seen = Seen<String>()
        let actor = QueueActor.actor(on: queue)
        for name in ["1", "2"] {
            bench.client.bind(
                Callback(on: actor) { event in
                    dispatchPrecondition(condition: .onQueue(queue))
                    if event.name == "e" { seen.add("\(name) \(event.data ?? "")") }
                }
            )
        }
        let connection = await bench.subscribe(to: "a")
        for number in numbers { connection.event("e", "a", number) }
        await seen.wait(for: 2 * numbers.count)
        #expect(seen.all == numbers.flatMap { ["1 \($0)", "2 \($0)"] })
        #expect(QueueActor.actor(on: .main) === MainActor.shared)
    }

    // MARK: The end of a callback

    @Test("After cancel() on the callback's actor, it is not called again")
    func cancels() async {
        for round in 0..<200 {
            let bench = Bench()
            let recorder = Recorder()
            let channel = bench.client.channel("a")
            await recorder.record(of: channel)
            let connection = await bench.subscribe(to: "a")
            let sender = Task.detached {
                for number in 0..<500 { connection.event("e", "a", "\(number)") }
            }
            _ = await recorder.wait(for: round % 7)
            let count = await recorder.cancel()
            await sender.value
            // Behind all events that may be in flight.
            await recorder.record("end", of: channel)
            connection.event("end", "a", "end")
            let lines = await recorder.wait(for: count + 1)
            #expect(lines.count == count + 1 && lines.last == "end")
        }
    }

    @Test @MainActor func cancelsWhileItsActorIsBusy() async {
        let bench = Bench()
        var seen: [String?] = []
        let token = bench.client.channel("a").bind("e") { seen.append($0.data) }
        let connection = await bench.subscribe(to: "a")
        // The events wait for the main actor, which is busy here, when cancel() is called.
        for number in 0..<100 { connection.event("e", "a", String(number)) }
        token.cancel()
        token.cancel()
        await withCheckedContinuation { continuation in
            bench.client.channel("a").bind("end") { _ in continuation.resume() }
            connection.event("end", "a", nil)
        }
        #expect(seen.isEmpty && !token.isActive)
    }

    @Test("Releasing the token keeps the callback; cancel() releases callback and actor")
    func retainsUntilCancelled() async {
        let bench = Bench()
        weak var released: Recorder?
        do {
            let recorder = Recorder()
            released = recorder
            await recorder.record(of: bench.client.channel("a"))
        }
        let connection = await bench.subscribe(to: "a")
        connection.event("e", "a", "1")
        // The callback retains the actor, which retains the token.
        #expect(await released?.wait(for: 1) == ["1"])
        _ = await released?.cancel()
        await eventually("the release of the actor") { released == nil }
    }

    @Test func releasesTheCallbacksCapturesWhenItIsCancelled() async {
        final class Capture: Sendable {}
        let bench = Bench()
        weak var released: Capture?
        let token: ListenerToken
        do {
            let capture = Capture()
            released = capture
            token = bench.client.onError { _ in _ = capture }
        }
        #expect(released != nil)
        token.cancel()
        #expect(released == nil)
    }
}
