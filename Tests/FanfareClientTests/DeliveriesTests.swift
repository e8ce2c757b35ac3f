import FanfareTesting
import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("The deliveries of a subscription", .timeLimit(.minutes(1))) struct DeliveriesTests {
    private struct User: Codable, Equatable {
        var name: String
    }

    /// The gap behind a resubscription.
    private let gap = Delivery<ChannelEvent>.gap(Gap(.brokerHasNoHistory))

    // MARK: Many readers

    @Test("Every iterator gets every event, of one sequence and of several")
    func multicast() async throws {
        let bench = Bench()
        let subscription = bench.client.channel("a").subscription()
        let shared = subscription.deliveries("e")
        var readers = [
            shared.makeAsyncIterator(), shared.makeAsyncIterator(),
            subscription.deliveries("e").makeAsyncIterator(),
        ]
        let connection = await bench.subscribe(to: "a")
        for number in 0..<100 { connection.event("e", "a", String(number)) }
        for index in readers.indices {
            for number in 0..<100 {
                #expect(try await readers[index].event()?.data == String(number))
            }
        }
    }

    @Test(
        "The first iterator gets the events since the creation of the sequence, a later one its own"
    )
    func beginning() async throws {
        let bench = Bench()
        let deliveries = bench.client.channel("a").subscription().deliveries("e")
        let connection = await bench.subscribe(to: "a")
        connection.event("e", "a", "1")
        var first = deliveries.makeAsyncIterator()
        var second = deliveries.makeAsyncIterator()
        connection.event("e", "a", "2")
        #expect(try await first.event()?.data == "1")
        #expect(try await first.event()?.data == "2")
        #expect(try await second.event()?.data == "2")
    }

    @Test("Sequences are by name, and those without a name get the protocol's events too")
    func names() async throws {
        let bench = Bench()
        let subscription = bench.client.channel("a").subscription()
        var named = subscription.deliveries("y").makeAsyncIterator()
        var all = subscription.deliveries().makeAsyncIterator()
        let connection = await bench.subscribe(to: "a")
        for name in ["x", "y"] { connection.event(name, "a", nil) }
        connection.event("y", "b", "of another channel")
        connection.event("y", "a", "2")
        #expect(try await named.event()?.data == nil)
        #expect(try await named.event()?.data == "2")
        for name in ["pusher:subscription_succeeded", "x", "y", "y"] {
            #expect(try await all.event()?.name == name)
        }
    }

    @Test("Data that cannot be decoded is delivered as such, and the sequence goes on")
    func undecodable() async throws {
        let bench = Bench()
        let errors = Seen<FanfareError>()
        bench.client.onError { errors.add($0) }
        var users = bench.client.channel("a").subscription().deliveries(of: EventName<User>("e"))
            .makeAsyncIterator()
        let connection = await bench.subscribe(to: "a")
        let texts = [#"{"name":"Ann"}"#, #"{"nick":"Bob"}"#, nil, #"{"name":"Cid"}"#]
        for text in texts { connection.event("e", "a", text) }
        #expect(try await users.event() == User(name: "Ann"))
        for text in texts[1...2] {
            guard case .undecodable(let event, let error) = try await users.next() else {
                Issue.record("\(text ?? "no data") should be undecodable")
                return
            }
            #expect(event.data == text && error.event == event && error.code == .undecodable)
            #expect(error.description.contains("the data of e is not a User"))
        }
        #expect(try await users.event() == User(name: "Cid"))
        // The reader decides: callbacks for errors are not called.
        #expect(errors.all.isEmpty)
    }

    // MARK: Cuts

    /// The reasons for a new connection.
    enum Interruption: CaseIterable {
        case cut, closed, disconnect, suspend

        fileprivate func apply(to bench: Bench, _ connection: ScriptedConnection) {
            switch self {
            case .cut: connection.end(.cut(reason: "gone"))
            case .closed: connection.end(.closeFrame(code: 4200, reason: "restart"))
            case .disconnect: bench.client.disconnect()
            case .suspend: bench.client.suspend()
            }
        }
    }

    @Test(
        "Sequences go on over a new connection, and deliver a gap before its events",
        arguments: Interruption.allCases
    )
    func goOn(interruption: Interruption) async throws {
        let bench = Bench()
        let subscription = bench.client.channel("a").subscription()
        var named = subscription.deliveries("e").makeAsyncIterator()
        var all = subscription.deliveries().makeAsyncIterator()
        var other = bench.client.channel("b").subscription().deliveries().makeAsyncIterator()
        let waiting = Task { try await other.event()?.data }
        bench.client.connect()
        var connection = await bench.transport.greet()
        for channel in ["a", "b"] { #expect(await connection.confirm(channel)) }
        connection.event("e", "a", "1")
        for round in 2...4 {
            interruption.apply(to: bench, connection)
            // Ends the wait for the next attempt, if there is one.
            bench.client.connect()
            connection = await bench.transport.greet()
            #expect(await connection.confirm("a"))
            connection.event("e", "a", "\(round)")
        }
        #expect(try await named.event()?.data == "1")
        for round in 2...4 {
            #expect(try await named.next() == gap)
            #expect(try await named.event()?.data == "\(round)")
        }
        // The gap is delivered before the confirmation, and not on the first one.
        #expect(try await all.event()?.name == "pusher:subscription_succeeded")
        #expect(try await all.event()?.data == "1")
        #expect(try await all.next() == gap)
        #expect(try await all.event()?.name == "pusher:subscription_succeeded")
        #expect(try await waiting.value == "{}")
    }

    @Test("A new subscription after the app has unsubscribed begins without a gap")
    func newBeginning() async throws {
        let bench = Bench()
        let connection = await bench.subscribe(to: "a")
        bench.client.channel("a").unsubscribe()
        #expect(await connection.next() == .send(.unsubscribe(channel: "a")))
        var deliveries = bench.client.channel("a").subscription().deliveries("e")
            .makeAsyncIterator()
        #expect(await connection.confirm("a"))
        connection.event("e", "a", "1")
        #expect(try await deliveries.event()?.data == "1")
    }

    @Test("The events of a user go on over a new connection, and deliver a gap")
    func usersGoOn() async throws {
        let bench = Bench {
            $0.authorization.user = UserAuthenticator { _ in
                UserAuthentication(auth: "k:s", userData: #"{"id":"ann"}"#)
            }
        }
        var events = bench.client.user.deliveries("e").makeAsyncIterator()
        var typed = bench.client.user.deliveries(of: EventName<Int>("e")).makeAsyncIterator()
        bench.client.signIn()
        for number in 1...2 {
            bench.client.connect()
            let connection = await bench.transport.greet()
            _ = await connection.next()
            connection.deliver(.signinSuccess(userData: #"{"id":"ann"}"#))
            #expect(await connection.confirm("#server-to-user-ann"))
            connection.event("e", "#server-to-user-ann", "\(number)")
            if number > 1 {
                #expect(try await events.next() == gap)
                #expect(try await typed.next() == .gap(Gap(.brokerHasNoHistory)))
            }
            #expect(try await events.event()?.data == "\(number)")
            #expect(try await typed.event() == number)
            connection.end(.cut(reason: ""))
        }
    }

    // MARK: Ends

    @Test("A sequence ends with its lease, after the events that it has buffered")
    func endsWithItsLease() async throws {
        let bench = Bench()
        let subscription = bench.client.channel("a").subscription()
        var deliveries = subscription.deliveries("e").makeAsyncIterator()
        var others = bench.client.channel("a").subscription().deliveries("e").makeAsyncIterator()
        let connection = await bench.subscribe(to: "a")
        connection.event("e", "a", "1")
        subscription.cancel()
        connection.event("e", "a", "2")
        #expect(try await deliveries.event()?.data == "1")
        #expect(try await deliveries.next() == nil)
        for number in 1...2 { #expect(try await others.event()?.data == "\(number)") }
        var late = subscription.deliveries("e").makeAsyncIterator()
        #expect(try await late.next() == nil)
    }

    @Test("A refusal by the broker is thrown to every reader, once")
    func throwsRefusals() async throws {
        let bench = Bench()
        let subscription = bench.client.channel("a").subscription()
        var readers = ["e", nil].map { subscription.deliveries($0).makeAsyncIterator() }
        bench.client.connect()
        let connection = await bench.transport.greet()
        _ = await connection.next()
        connection.deliver(
            .subscriptionError(channel: "a", type: "AuthError", message: "no", status: 401)
        )
        for index in readers.indices {
            var error: FanfareError?
            do throws(FanfareError) {
                // The sequence of all events delivers the broker's message first.
                while try await readers[index].next() != nil {}
            } catch let refusal {
                error = refusal
            }
            #expect(error?.code == .subscriptionRefused && error?.channel == "a")
            #expect(try await readers[index].next() == nil)
        }
        // A sequence that is created later does not wait for ever.
        var late = subscription.deliveries("e").makeAsyncIterator()
        await #expect(throws: FanfareError.self) { try await late.next() }
    }

    @Test(
        "A refusal in the client is thrown, also by a sequence that is created after it",
        arguments: ["private-a", "presence-a", "private-encrypted-a"],
        [false, true]
    )
    func throwsRefusalsInTheClient(channel: String, isConnected: Bool) async throws {
        let bench = Bench()
        if isConnected { _ = await bench.subscribe(to: "b") }
        var deliveries = bench.client.channel(channel).subscription().deliveries("e")
            .makeAsyncIterator()
        if !isConnected {
            bench.client.connect()
            _ = await bench.transport.greet()
        }
        let code: FanfareError.Code =
            channel.contains("encrypted") ? .decrypterMissing : .authorizationFailed
        do {
            _ = try await deliveries.next()
            Issue.record("the refusal should be thrown")
        } catch {
            #expect(error.code == code && error.channel == channel)
        }
    }

    @Test("A failed client ends its sequences, also those that are created later")
    func throwsFailures() async throws {
        let bench = Bench()
        var before = bench.client.channel("a").subscription().deliveries().makeAsyncIterator()
        var members = bench.client.channel("presence-a").presence.changes.makeAsyncIterator()
        var user = bench.client.user.deliveries().makeAsyncIterator()
        bench.client.connect()
        await bench.transport.accept().end(.closeFrame(code: 4001, reason: "no such app"))
        let error = FanfareError.refused(code: 4001, message: "no such app")
        await #expect(throws: error) { try await before.next() }
        await #expect(throws: error) { try await members.next() }
        await #expect(throws: error) { try await user.next() }
        var after = bench.client.channel("a").subscription().deliveries().makeAsyncIterator()
        await #expect(throws: error) { try await after.next() }
        var laterMembers = bench.client.channel("presence-a").presence.changes.makeAsyncIterator()
        await #expect(throws: error) { try await laterMembers.next() }
    }

    @Test("The end of a task ends its sequence without an error")
    func cancellation() async throws {
        let bench = Bench()
        let deliveries = bench.client.channel("a").subscription().deliveries()
        let task = Task {
            for try await _ in deliveries {}
            return true
        }
        task.cancel()
        #expect(try await task.value)
    }

    // MARK: Members

    @Test("Each reader of the members has its own pace, and gets what it missed as one change")
    func members() async throws {
        let bench = Bench {
            $0.authorization.channels = ChannelAuthorizer { _, _ in
                ChannelAuthorization(auth: "k:s", channelData: #"{"user_id":"0"}"#)
            }
        }
        let presence = bench.client.subscribe("presence-a").presence
        let changes = presence.changes
        var (quick, slow) = (changes.makeAsyncIterator(), changes.makeAsyncIterator())
        bench.client.connect()
        let connection = await bench.transport.greet()
        _ = await connection.next()
        let roster = #"{"presence":{"hash":{"0":null}}}"#
        connection.deliver(.subscriptionSucceeded(channel: "presence-a", data: roster))
        #expect(try await quick.next()?.joined == [])
        #expect(try await slow.next()?.roster.members.count == 1)
        for id in 1...500 {
            connection.deliver(
                .memberAdded(channel: "presence-a", userID: "\(id)", userInfo: nil)
            )
            #expect(try await quick.next()?.joined.map(\.id) == ["\(id)"])
        }
        for id in 1...100 {
            connection.deliver(.memberRemoved(channel: "presence-a", userID: "\(id)"))
        }
        let missed = try await slow.next()
        #expect(missed?.joined.map(\.id) == (101...500).map { "\($0)" })
        #expect(missed?.left == [] && missed?.roster.members.count == 401)
        #expect(try await quick.next()?.left.count == 100)
    }
}
