import FanfareTesting
import PusherProtocol
import Synchronization
import Testing

@testable import FanfareClient

@Suite("Recovery behind lost connections", .timeLimit(.minutes(2))) struct RecoveryTests {
    /// What happens to the connection.
    enum Interruption: CaseIterable, Sendable {
        case cut, closed, disconnect, suspend, restart

        fileprivate func apply(to client: Fanfare, _ broker: ScriptedBroker) throws {
            switch self {
            case .cut: broker.cut()
            case .closed: try broker.close(code: 4200)
            case .disconnect: client.disconnect()
            case .suspend: client.suspend()
            case .restart: broker.restart(keepingHistory: true)
            }
        }
    }

    private static let channels = [
        "room", "private-room", "presence-room", "cache-room", "private-cache-room",
        "presence-cache-room", "private-encrypted-room", "private-encrypted-cache-room",
    ]

    private func client(_ broker: ScriptedBroker) -> Fanfare {
        broker.client(as: "ann") {
            $0.decrypter = ReversingDecrypter()
            $0.authorization.channels = ChannelAuthorizer { request, channel in
                let member = channel.hasPrefix("presence-") ? #"{"user_id":"ann"}"# : nil
                return ChannelAuthorization(
                    auth: try broker.authorization(
                        of: request.socketID,
                        for: channel,
                        as: member
                    ),
                    channelData: member,
                    sharedSecret: "secret"
                )
            }
        }
    }

    private func trigger(_ number: Int, on channel: String, _ broker: ScriptedBroker) throws {
        let isEncrypted = channel.contains("encrypted")
        let text = isEncrypted ? "secret:" + String("\(number)".reversed()) : "\(number)"
        try broker.trigger("e", on: [channel], text: text)
    }

    @Test(
        "What was missed is delivered in order and once, and no gap is told",
        arguments: channels,
        Interruption.allCases
    )
    func recovers(name: String, interruption: Interruption) async throws {
        let broker = ScriptedBroker()
        let client = client(broker)
        let channel = client.channel(name)
        let (continuities, called) = (Seen<Continuity>(), Seen<String>())
        channel.onContinuity { continuities.add($0) }
        channel.bind("e") { called.add($0.data ?? "") }
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        client.connect()
        try await broker.waitForSubscribers(to: name)
        var number = 0
        for round in 0..<4 {
            if round > 0 {
                broker.reception = .unreachable(reason: "The test keeps the client away")
                try interruption.apply(to: client, broker)
                try await broker.waitForConnections(0)
                for _ in 0..<round {
                    number += 1
                    try trigger(number, on: name, broker)
                }
                try await broker.settle()
                broker.reception = .accept
                client.connect()
                try await broker.waitForSubscribers(to: name)
                for expected in (number - round + 1)...number {
                    #expect(try await events.event()?.data == "\(expected)")
                }
                guard case .recovered(count: round) = try await events.next() else {
                    Issue.record("the recovery should be told")
                    return
                }
            }
            number += 1
            try trigger(number, on: name, broker)
            #expect(try await events.event()?.data == "\(number)")
        }
        try await broker.settle()
        #expect(called.all == (1...number).map { "\($0)" })
        #expect(continuities.all == [.began] + (1...3).map { .resumed(replayed: $0) })
        client.disconnect()
    }

    @Test("A loss that cannot be helped is told with its reason and count")
    func gaps() async throws {
        var settings = ScriptedBroker.Settings()
        settings.historyMessagesMax = 5
        let broker = ScriptedBroker(settings)
        let client = broker.client()
        let channel = client.channel("room")
        let told = Continuities(of: channel)
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        client.connect()
        #expect(await told.next() == .began)

        /// Triggers events while the client is away, and returns what it is told.
        func miss(_ count: Int, _ meanwhile: () -> Void = {}) async throws -> Continuity? {
            client.suspend()
            try await broker.waitForConnections(0)
            for number in 0..<count { try broker.trigger("e", on: ["room"], text: "\(number)") }
            meanwhile()
            client.connect()
            return await told.next()
        }
        #expect(try await miss(5) == .resumed(replayed: 5))
        for _ in 0..<5 { _ = try await events.event() }
        #expect(try await events.next() == .recovered(count: 5))
        #expect(try await miss(6) == .gap(Gap(.truncated, missed: 6)))
        #expect(try await events.next() == .gap(Gap(.truncated, missed: 6)))
        #expect(try await miss(3) { broker.forgetHistory() } == .gap(Gap(.truncated, missed: 3)))
        #expect(try await events.next() == .gap(Gap(.truncated, missed: 3)))
        // Nothing was missed: then nothing is lost with the history.
        #expect(try await miss(0) { broker.forgetHistory() } == .resumed(replayed: 0))
        #expect(try await events.next() == .recovered(count: 0))
        let other = try await miss(2) { broker.restart(keepingHistory: false) }
        #expect(other == .gap(Gap(.unknownStream)))
        #expect(try await events.next() == .gap(Gap(.unknownStream)))
        client.disconnect()
    }

    @Test("A broker without recovery is told as such; sequences get a gap from the second time on")
    func otherBrokers() async throws {
        var settings = ScriptedBroker.Settings()
        settings.keepsHistory = false
        let broker = ScriptedBroker(settings)
        let client = broker.client()
        let channel = client.channel("room")
        let told = Continuities(of: channel)
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        for round in 0..<3 {
            client.connect()
            #expect(await told.next() == .unknown)
            if round > 0 { #expect(try await events.next() == .gap(Gap(.brokerHasNoHistory))) }
            try broker.trigger("e", on: ["room"], text: "1")
            #expect(try await events.event()?.data == "1")
            #expect(channel.position == nil)
            client.suspend()
        }
    }

    @Test("An event that is lost on the way is noticed by the next one, and asked for again")
    func holes() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        let errors = Seen<FanfareError>()
        client.onError { errors.add($0) }
        let channel = client.channel("room")
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        client.connect()
        try await channel.waitUntilSubscribed()
        broker.inject(.drop, times: 2) { $0.event == "e" }
        broker.inject(.duplicate, times: 3) { $0.event == "e" }
        for number in 1...5 { try broker.trigger("e", on: ["room"], text: "\(number)") }
        for number in 1...5 {
            var delivery = try await events.next()
            if case .recovered = delivery { delivery = try await events.next() }
            guard case .event(let event, let position) = delivery else {
                Issue.record("\(String(describing: delivery))")
                return
            }
            #expect(event.data == "\(number)" && position?.serial == UInt64(number))
        }
        try await broker.wait(for: "the error's callback") { !errors.all.isEmpty }
        #expect(errors.all.map(\.code) == [.protocolViolation])
        client.disconnect()
    }

    @Test("A channel that goes on in another stream tells the gap before its next event")
    func otherStreams() async throws {
        let bench = Bench()
        let channel = bench.client.channel("room")
        let told = Seen<String>()
        channel.onContinuity { told.add("\($0)") }
        channel.bind("e") { told.add($0.data ?? "") }
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        bench.client.connect()
        let connection = await bench.transport.greet()
        func acknowledge(_ data: String) {
            connection.deliver(.subscriptionSucceeded(channel: "room", data: data))
        }
        func event(_ serial: UInt64) {
            let data = "\(serial)"
            connection.deliver(
                .event(ReceivedEvent(name: "e", channel: "room", data: data, serial: serial))
            )
        }
        acknowledge(#"{"position":{"stream":"s1","serial":4}}"#)
        event(5)
        acknowledge(
            #"{"position":{"stream":"s2","serial":0},"recovered":false,"gap":{"reason":"unknown_stream"}}"#
        )
        event(1)
        #expect(try await events.event()?.data == "5")
        #expect(try await events.next() == .gap(Gap(.unknownStream)))
        guard case .event(let next, let position) = try await events.next() else {
            Issue.record("an event follows the gap")
            return
        }
        #expect(next.data == "1" && position == ChannelPosition(stream: "s2", serial: 1))
        await told.wait(for: 4)
        #expect(told.all == ["began", "5", "\(Continuity.gap(Gap(.unknownStream)))", "1"])
        await eventually("the new position") { channel.position == position }
    }

    @Test("The continuity of the user's own channel is told, over sign-ins as one user and another")
    func users() async throws {
        let broker = ScriptedBroker()
        let id = Mutex("ann")
        let client = broker.client {
            $0.authorization.user = UserAuthenticator { socketID in
                let userData = #"{"id":"\#(id.withLock { $0 })"}"#
                let auth = try broker.authentication(of: socketID, as: userData)
                return UserAuthentication(auth: auth, userData: userData)
            }
        }
        let (told, heard) = (Seen<Continuity>(), Seen<String>())
        client.user.onContinuity { told.add($0) }
        client.user.bind("e") { heard.add($0.data ?? "") }
        client.signIn()
        func away(_ happen: () throws -> Void) async throws {
            client.suspend()
            try await broker.waitForConnections(0)
            try happen()
            client.connect()
        }
        client.connect()
        await told.wait(for: 1)
        try await away { try broker.trigger("e", toUser: "ann", data: 1) }
        await told.wait(for: 2)
        // It is told before the events that follow, and the next connection would not get them.
        await heard.wait(for: 1)
        try await away { broker.restart(keepingHistory: false) }
        await told.wait(for: 3)
        try await away { id.withLock { $0 = "bob" } }
        await told.wait(for: 4)
        try broker.trigger("e", toUser: "bob", data: 2)
        await heard.wait(for: 2)
        #expect(heard.all == ["1", "2"])
        let gap = Continuity.gap(Gap(.unknownStream))
        #expect(told.all == [.began, .resumed(replayed: 1), gap, gap])
        client.disconnect()
    }

    @Test("Events that exclude the client, and its own, leave no hole")
    func exclusions() async throws {
        let broker = ScriptedBroker()
        let (client, other) = (broker.client(), broker.client())
        let (heard, errors) = (Seen<String>(), Seen<FanfareError>())
        client.onError { errors.add($0) }
        let channel = client.channel("private-room").subscribe()
        channel.bind { if !$0.isFromProtocol { heard.add($0.data ?? "") } }
        let told = Seen<Continuity>()
        channel.onContinuity { told.add($0) }
        other.subscribe("private-room")
        for client in [client, other] { client.connect() }
        try await broker.waitForSubscribers(2, to: "private-room")
        try await channel.waitUntilSubscribed()
        for round in 1...3 {
            try channel.trigger("client-own", round)
            try broker.trigger("e", on: ["private-room"], text: "left out", except: client.socketID)
            try other.channel("private-room").trigger("client-other", round)
            try await broker.settle()
            let socketID = try #require(client.socketID)
            try broker.cut(socketID)
            // Still left out: it excludes the connection that the client had.
            try broker.trigger("e", on: ["private-room"], text: "left out", except: socketID)
            try broker.trigger("e", on: ["private-room"], text: "missed \(round)")
            try await broker.advance(by: .seconds(60))
            try await broker.waitForSubscribers(2, to: "private-room")
            try await channel.waitUntilSubscribed()
            try await broker.settle()
        }
        #expect(heard.all == (1...3).flatMap { ["\($0)", "missed \($0)"] })
        #expect(told.all == [.began] + (1...3).map { _ in .resumed(replayed: 2) })
        #expect(errors.all == [])
        #expect(channel.position?.serial == 15)
        for client in [client, other] { client.disconnect() }
    }

    @Test("A cached event that a cut has prevented comes with the next subscription")
    func openings() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        try broker.trigger("e", on: ["cache-room"], text: "cached")
        let channel = client.channel("cache-room")
        let (heard, told) = (Seen<String>(), Seen<Continuity>())
        channel.bind("e") { heard.add($0.data ?? "") }
        channel.onContinuity { told.add($0) }
        channel.subscribe()
        for _ in 1...3 {
            // It is on its way behind the acknowledgement.
            broker.inject(.delay(.seconds(5))) { $0.event == "e" }
            client.connect()
            try await channel.waitUntilSubscribed()
            try await broker.settle()
            broker.cut()
            try await broker.settle()
            #expect(heard.all == [])
        }
        client.connect()
        try await channel.waitUntilSubscribed()
        try broker.trigger("e", on: ["cache-room"], text: "next")
        try await broker.settle()
        #expect(heard.all == ["cached", "next"])
        #expect(told.all == [.began] + (1...3).map { _ in .resumed(replayed: 0) })
        // It has the cached event: a later cut does not bring it again.
        broker.cut()
        try await broker.advance(by: .seconds(31))
        try await broker.waitForSubscribers(to: "cache-room")
        try await broker.settle()
        #expect(heard.all == ["cached", "next"])
        client.disconnect()
    }
}
