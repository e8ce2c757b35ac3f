import FanfareTesting
import Primitives
import PusherProtocol
import Synchronization
import Testing

@testable import FanfareClient

@Suite("The pause of reading", .timeLimit(.minutes(1))) struct BackpressureTests {
    @Test("Slow callbacks pause reading, and nothing is lost")
    func callbacksByCount() async {
        let bench = Bench { $0.maxPendingCallbacks = 10 }
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

    @Test("The size of waiting events counts, and a new connection is paused too")
    func callbacksByBytes() async {
        let bench = Bench { $0.pendingCallbackBytesMax = 1000 }
        let recorder = Recorder()
        await recorder.record(of: bench.client.channel("a"))
        let connection = await bench.subscribe(to: "a")
        recorder.suspend()
        connection.event("e", "a", String(repeating: "x", count: 1000))
        #expect(await connection.next() == .pauseReading)
        connection.end(.closeFrame(code: 4200, reason: ""))
        let second = await bench.transport.accept()
        #expect(await second.next() == .pauseReading)
        recorder.resume()
        #expect(await second.next() == .resumeReading)
    }

    @Test("Waiting changes of members count with their member lists")
    func presenceByBytes() async {
        let bench = Bench {
            $0.pendingCallbackBytesMax = 10_000
            $0.channelAuthorizer = ChannelAuthorizer { _, _ in
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
            $0.pendingCallbackBytesMax = 5000
            $0.userAuthenticator = UserAuthenticator { _ in
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

    @Test("A slow reader of a sequence pauses reading, and nothing is lost")
    func sequences() async throws {
        let bench = Bench { $0.maxPendingCallbacks = 10 }
        let deliveries = bench.client.channel("a").subscription().deliveries("e")
        var iterator = deliveries.makeAsyncIterator()
        let connection = await bench.subscribe(to: "a")
        connection.event("e", "a", "0")
        #expect(try await iterator.event()?.data == "0")
        for number in 1..<20 { connection.event("e", "a", String(number)) }
        #expect(await connection.next() == .pauseReading)
        for number in 1..<20 { #expect(try await iterator.event()?.data == String(number)) }
        #expect(await connection.next() == .resumeReading)
    }

    @Test("A reader that goes away lets the others go on")
    func abandonedReaders() async throws {
        let bench = Bench { $0.maxPendingCallbacks = 10 }
        let subscription = bench.client.channel("a").subscription()
        var iterator: Deliveries<ChannelEvent>.AsyncIterator? = subscription.deliveries("e")
            .makeAsyncIterator()
        let connection = await bench.subscribe(to: "a")
        connection.event("e", "a", "0")
        #expect(try await iterator?.event()?.data == "0")
        for number in 1..<20 { connection.event("e", "a", String(number)) }
        #expect(await connection.next() == .pauseReading)
        iterator = nil
        #expect(await connection.next() == .resumeReading)
        subscription.cancel()
    }

    @Test("A reader may go away at any time, also while an event is being delivered")
    func abandonedReadersWhileSending() async throws {
        let bench = Bench { $0.maxPendingCallbacks = 10 }
        let subscription = bench.client.channel("a").subscription()
        let connection = await bench.subscribe(to: "a")
        for _ in 0..<300 {
            var iterators = (0..<4).map { _ in
                subscription.deliveries("e").makeAsyncIterator()
            }
            connection.event("e", "a", "0")
            for index in iterators.indices { _ = try await iterators[index].event() }
            let sender = Task.detached {
                for number in 0..<40 { connection.event("e", "a", String(number)) }
            }
            await Task.yield()
            while !iterators.isEmpty { iterators.removeLast() }
            await sender.value
        }
        // Reading goes on once all of them are gone.
        await eventually("reading") {
            bench.client.state.withLock { $0.overloaded.isEmpty }
        }
    }

    @Test(
        "A sequence that is not read pauses nothing, and begins with a gap once its buffer was full",
        arguments: [1, 1000]
    )
    func unreadSequences(length: Int) async throws {
        let bench = Bench {
            $0.maxPendingCallbacks = 10
            $0.pendingCallbackBytesMax = 5000
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
        // Once read, it pauses reading as others do.
        for text in texts { connection.event("e", "a", text) }
        #expect(await connection.next() == .pauseReading)
    }
}
