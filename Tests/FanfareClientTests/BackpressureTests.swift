import FanfareTesting
import Primitives
import PusherProtocol
import Synchronization
import Testing

@testable import FanfareClient

@Suite("The pause of reading", .timeLimit(.minutes(1))) struct BackpressureTests {
    @Test("Slow callbacks pause reading, and nothing is lost")
    func callbacksByCount() async {
        let bench = Bench { $0.limits.pendingCallbackCountMax = 10 }
        let recorder = Recorder()
        await recorder.record(of: bench.client.channel("a"))
        let connection = await bench.subscribe(to: "a")
        recorder.suspend()
        // A transport may have read messages it has not delivered; those are still accepted.
        for number in 0..<20 { connection.event("e", "a", String(number)) }
        #expect(await connection.next() == .pauseReading)
        recorder.resume()
        #expect(await connection.next() == .resumeReading)
        #expect(await recorder.wait(for: 20) == (0..<20).map { String($0) })
    }

    @Test("The size of waiting events counts, and a new connection is paused once established")
    func callbacksByBytes() async {
        let bench = Bench { $0.limits.pendingCallbackBytesMax = 1000 }
        let recorder = Recorder()
        await recorder.record(of: bench.client.channel("a"))
        let connection = await bench.subscribe(to: "a")
        recorder.suspend()
        connection.event("e", "a", String(repeating: "x", count: 1000))
        #expect(await connection.next() == .pauseReading)
        connection.end(.closeFrame(code: 4200, reason: ""))
        let second = await bench.transport.accept()
        // A connection without the broker's first message would time out.
        #expect(!second.isPaused)
        second.deliver(.connectionEstablished(socketID: SocketID(1, 3), activityTimeout: 120))
        #expect(await second.next() == .pauseReading)
        #expect(await second.confirm("a"))
        recorder.resume()
        #expect(await second.next() == .resumeReading)
    }

    @Test("Waiting changes of members count with their member lists")
    func presenceByBytes() async {
        let bench = Bench {
            $0.limits.pendingCallbackBytesMax = 10_000
            $0.authorization.channels = ChannelAuthorizer { _, _ in
                ChannelAuthorization(auth: "k:s", channelData: #"{"user_id":"0"}"#)
            }
        }
        let recorder = Recorder()
        await recorder.recordMembers(of: bench.client.subscribe("presence-a"))
        bench.client.connect()
        let connection = await bench.transport.greet()
        _ = await connection.next()
        recorder.suspend()
        let hash = (0..<100).map { "\"\($0)\":null" }.joined(separator: ",")
        let roster = #"{"presence":{"hash":{\#(hash)}}}"#
        connection.deliver(.subscriptionSucceeded(channel: "presence-a", data: roster))
        connection.deliver(.memberAdded(channel: "presence-a", userID: "x", userInfo: nil))
        #expect(await connection.next() == .pauseReading)
        recorder.resume()
        #expect(await connection.next() == .resumeReading)
    }

    @Test("Waiting changes of a watchlist count with their user IDs")
    func watchlistByBytes() async {
        let ann = #"{"id":"ann"}"#
        let bench = Bench {
            $0.limits.pendingCallbackBytesMax = 5000
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
        #expect(await connection.confirm("#server-to-user-ann"))
        recorder.suspend()
        let users = (0..<200).map { "user-\($0)" }
        connection.deliver(.watchlist(online: users, offline: []))
        #expect(await connection.next() == .pauseReading)
        recorder.resume()
        #expect(await connection.next() == .resumeReading)
    }

    @Test("A stuck reader of one channel stops no other; what was held back is requested again")
    func stuckReaders() async throws {
        let bench = Bench { $0.limits.pendingCallbackCountMax = 10 }
        var deliveries = bench.client.channel("a").subscription().deliveries("e")
            .makeAsyncIterator()
        var other = bench.client.channel("b").subscription().deliveries("e").makeAsyncIterator()
        let connection = await bench.subscribe(to: "a", at: 0)
        #expect(await connection.confirm("b"))
        connection.event(1, "a")
        #expect(try await deliveries.event()?.data == "1")
        for number in 2..<30 { connection.event(number, "a") }
        connection.event("e", "b", "b")
        #expect(try await other.event()?.data == "b")
        for number in 2...12 { #expect(try await deliveries.event()?.data == String(number)) }
        #expect(await connection.next() == .send(.unsubscribe(channel: "a")))
        guard case .send(.subscribe("a", _, _, let request?)) = await connection.next() else {
            Issue.record("no subscription")
            return
        }
        #expect(request.position?.serial == 12)
        connection.event(29, "a")
        connection.confirm("a", at: 12, replay: 18)
        var read: [String] = []
        for number in 13...30 {
            connection.event(number, "a")
            if let event = try await deliveries.event() { read.append(event.data ?? "") }
        }
        #expect(read == (13...30).map { String($0) })
    }

    @Test("A reader that reads nothing for a while gets a gap, and its channel goes on")
    func stuckForGood() async throws {
        let bench = Bench { $0.limits.pendingCallbackCountMax = 10 }
        var deliveries = bench.client.channel("a").subscription().deliveries("e")
            .makeAsyncIterator()
        let connection = await bench.subscribe(to: "a", at: 0)
        connection.event(1, "a")
        #expect(try await deliveries.event()?.data == "1")
        for number in 2..<30 { connection.event(number, "a") }
        try await bench.clock.waitForSleep(of: SlowReaders.stuckAfter)
        // While it reads, the channel waits for it.
        #expect(try await deliveries.event()?.data == "2")
        bench.clock.advance(by: SlowReaders.stuckAfter)
        try await bench.clock.waitForSleep(of: SlowReaders.stuckAfter)
        bench.clock.advance(by: SlowReaders.stuckAfter)
        #expect(await connection.next() == .send(.unsubscribe(channel: "a")))
        _ = await connection.next()
        connection.confirm("a", at: 12, replay: 1)
        connection.event(13, "a")
        #expect(try await deliveries.next() == .gap(Gap(.overflow)))
        while let delivery = try await deliveries.next() {
            guard case .event(let event, _) = delivery else { continue }
            #expect(event.data == "13")
            break
        }
    }

    @Test("Without positions, a slow reader gets a gap at once, and stops no other")
    func slowWithoutPositions() async throws {
        let bench = Bench { $0.limits.pendingCallbackCountMax = 10 }
        let subscription = bench.client.channel("a").subscription()
        var slow = subscription.deliveries("e").makeAsyncIterator()
        var other = subscription.deliveries("other").makeAsyncIterator()
        let connection = await bench.subscribe(to: "a")
        connection.event("e", "a", "0")
        #expect(try await slow.event()?.data == "0")
        for number in 1..<20 { connection.event("e", "a", String(number)) }
        connection.event("other", "a", "o")
        #expect(try await other.event()?.data == "o")
        #expect(try await slow.next() == .gap(Gap(.overflow)))
        for number in 12..<20 { #expect(try await slow.event()?.data == String(number)) }
    }

    @Test("Channels go on when the readers that they wait for go away, at any time")
    func abandonedReaders() async throws {
        let bench = Bench { $0.limits.pendingCallbackCountMax = 10 }
        let subscription = bench.client.channel("a").subscription()
        let connection = await bench.subscribe(to: "a", at: 0)
        for round in 0..<300 {
            var iterators = (0..<4).map { _ in
                subscription.deliveries("e").makeAsyncIterator()
            }
            connection.event(round * 50 + 1, "a")
            for index in iterators.indices { _ = try await iterators[index].event() }
            let sender = Task.detached {
                for number in 2...50 { connection.event(round * 50 + number, "a") }
            }
            await Task.yield()
            while !iterators.isEmpty { iterators.removeLast() }
            await sender.value
            await eventually("reading") {
                bench.client.state.withLock {
                    !$0.slowReaders.holdBack("a")
                        && $0.session.subscriptions[of: "a"]?.isHeldBack == false
                }
            }
            guard bench.client.state.withLock({ $0.session.subscription(to: "a") }) == .pending
            else { continue }
            let serial = bench.client.state.withLock {
                $0.session.subscriptions[of: "a"]?.tracking.position?.serial ?? 0
            }
            let replayed = UInt64(round + 1) * 50 - serial
            connection.confirm("a", at: Int(serial), replay: Int(replayed))
            for number in Int(serial) + 1..<Int(serial + replayed) + 1 {
                connection.event(number, "a")
            }
        }
        subscription.cancel()
    }

    @Test(
        "A sequence that is not read begins with a gap once its buffer was full",
        arguments: [1, 1000]
    )
    func unreadSequences(length: Int) async throws {
        let bench = Bench {
            $0.limits.pendingCallbackCountMax = 10
            $0.limits.pendingCallbackBytesMax = 5000
        }
        let deliveries = bench.client.channel("a").subscription().deliveries("e")
        let connection = await bench.subscribe(to: "a")
        let texts = (0..<25).map { String(repeating: "\($0 % 10)", count: length) }
        for text in texts { connection.event("e", "a", text) }
        #expect(bench.client.state.withLock { $0.overloaded.isEmpty })
        var iterator = deliveries.makeAsyncIterator()
        #expect(try await iterator.next() == .gap(Gap(.overflow)))
        connection.event("e", "a", "end")
        var read: [String] = []
        while read.last != "end", let event = try await iterator.event() {
            read.append(event.data ?? "")
        }
        // The latest events are kept, in order.
        #expect(read == texts.suffix(read.count - 1) + ["end"])
        #expect(read.count > 1 && read.count <= 10)
    }
}
