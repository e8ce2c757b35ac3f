import FanfareTesting
import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Leases of channels", .timeLimit(.minutes(1))) struct LeasesTests {
    private let unsubscribe = ScriptedConnection.Command.send(.unsubscribe(channel: "a"))

    @Test("A channel is needed until its last holder ends")
    func counts() {
        var leases = Leases()
        #expect([leases.begin("a"), leases.begin("a")] == [1, 2])
        #expect([leases.beginOwn("a"), leases.beginOwn("a")] == [true, true])
        let ends = [leases.end("a"), leases.endOwn("a"), leases.endOwn("a"), leases.end("a")]
        #expect(ends == [false, false, false, true])
        // Without a holder an end is passed on, and does no harm.
        let strays = [leases.endOwn("a"), leases.end("b")]
        #expect(strays == [true, true])
    }

    @Test("The app's own start lasts until a gap, and a second one does not replace it")
    func ownStarts() {
        var leases = Leases()
        let (five, six) = (ChannelDriver.position(5), ChannelDriver.position(6))
        _ = leases.beginOwn("a", at: five)
        _ = leases.beginOwn("a", at: six)
        #expect(leases.ownIncludes(five, of: "a") && !leases.ownIncludes(six, of: "a"))
        #expect(!leases.ownIncludes(ChannelDriver.position(1, "s2"), of: "a"))
        #expect(!leases.ownIncludes(nil, of: "a") && !leases.ownIncludes(five, of: "b"))
        leases.clearOwnStart(of: "a")
        #expect(!leases.ownIncludes(five, of: "a"))
        let isUnused = leases.endOwn("a")
        #expect(isUnused)
    }

    @Test("All leases of a channel share one subscription, and the last one unsubscribes")
    func share() async {
        let bench = Bench()
        let channel = bench.client.channel("a")
        let (first, second) = (channel.subscription(), channel.subscription())
        let connection = await bench.subscribe(to: "a")
        let third = channel.subscription()
        first.cancel()
        first.cancel()
        channel.unsubscribe()
        channel.unsubscribe()
        third.cancel()
        #expect(channel.isSubscribed)
        bench.client.subscribe("b")
        #expect(await connection.confirm("b"))
        second.cancel()
        #expect(await connection.next() == unsubscribe)
        #expect(!channel.isSubscribed)
    }

    @Test("The app's own subscription outlives every lease, and counts once")
    func own() async {
        let bench = Bench()
        let channel = bench.client.channel("a")
        channel.subscribe()
        let connection = await bench.subscribe(to: "a")
        channel.subscription().cancel()
        #expect(channel.isSubscribed)
        channel.unsubscribe()
        #expect(await connection.next() == unsubscribe)
    }

    @Test("Releasing a lease ends it, unless one of its sequences is read")
    func release() async throws {
        let bench = Bench()
        let channel = bench.client.channel("a")
        bench.client.connect()
        let connection = await bench.transport.greet()
        do {
            let subscription = channel.subscription()
            #expect(await connection.confirm("a"))
            #expect(subscription.channel.isSubscribed)
        }
        #expect(await connection.next() == unsubscribe)

        var events: Deliveries<ChannelEvent>.AsyncIterator? = channel.subscription()
            .deliveries("e").makeAsyncIterator()
        #expect(await connection.confirm("a"))
        connection.event("e", "a", "1")
        #expect(try await events?.event()?.data == "1")
        events = nil
        #expect(await connection.next() == unsubscribe)
    }

    @Test("A task that reads a sequence holds the lease until its loop ends")
    func loops() async throws {
        let bench = Bench()
        bench.client.connect()
        let connection = await bench.transport.greet()
        let channel = bench.client.channel("a")
        let reading = Task {
            for try await case .event(let event, _) in channel.subscription().deliveries("e") {
                return event.data
            }
            return nil
        }
        #expect(await connection.confirm("a"))
        connection.event("e", "a", "1")
        #expect(try await reading.value == "1")
        #expect(await connection.next() == unsubscribe)
    }

    @Test("A lease keeps the subscription over a new connection")
    func reconnection() async throws {
        let bench = Bench()
        let subscription = bench.client.channel("a").subscription()
        for _ in 0..<3 {
            bench.client.connect()
            let connection = await bench.transport.greet()
            #expect(await connection.confirm("a"))
            connection.end(.cut(reason: ""))
        }
        subscription.cancel()
        bench.client.connect()
        let connection = await bench.transport.greet()
        bench.client.subscribe("b")
        #expect(await connection.confirm("b"))
    }

    @Test("A new lease of a refused channel tries again")
    func refusals() async throws {
        let bench = Bench()
        let first = bench.client.channel("a").subscription()
        bench.client.connect()
        let connection = await bench.transport.greet()
        _ = await connection.next()
        connection.deliver(
            .subscriptionError(channel: "a", type: "AuthError", message: "no", status: 401)
        )
        var events = bench.client.channel("a").subscription().deliveries("e").makeAsyncIterator()
        #expect(await connection.confirm("a"))
        connection.event("e", "a", "1")
        #expect(try await events.event()?.data == "1")
        first.cancel()
        #expect(bench.client.channel("a").isSubscribed)
    }

    @Test("The callbacks of a channel stay without a lease")
    func callbacks() async {
        let bench = Bench()
        let seen = Seen<String?>()
        let channel = bench.client.channel("a")
        channel.bind("e") { seen.add($0.data) }
        bench.client.connect()
        let connection = await bench.transport.greet()
        for number in 1...2 {
            let subscription = channel.subscription()
            #expect(await connection.confirm("a"))
            connection.event("e", "a", "\(number)")
            subscription.cancel()
            #expect(await connection.next() == unsubscribe)
            connection.event("e", "a", "late")
        }
        await seen.wait(for: 2)
        #expect(seen.all == ["1", "2"])
    }
}
