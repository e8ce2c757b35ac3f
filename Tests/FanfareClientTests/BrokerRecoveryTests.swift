import Broker
import BrokerConfiguration
import FanfareAPI
import FanfareServer
import Logging
import Net
import PusherProtocol
import TestPorts
import Testing

@testable import FanfareClient

/// A broker, a relay in front of it that cuts, and the app's backend.
private struct Setting {
    let server: BrokerServer
    let relay: FaultyRelay
    let relayPort: UInt16
    let port: UInt16
    let api: BrokerAPI

    init(
        port: UInt16 = freePort(),
        _ change: (inout AppConfiguration) -> Void = { _ in }
    ) async throws {
        var configuration = Configuration.development
        configuration.port = port
        configuration.loops = 2
        configuration.apps[0].limits.clientEventRate = Rate(perSecond: 1_000_000)
        change(&configuration.apps[0])
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        server = try BrokerServer(configuration: configuration, log: log)
        self.port = try #require(try await server.start().plain?.port)
        (relay, relayPort) = try await FaultyRelay.start(
            to: self.port,
            seed: .random(in: 1...100_000)
        )
        api = try BrokerAPI(
            appID: "1",
            key: "app-key",
            secret: "app-secret",
            url: "http://127.0.0.1:\(self.port)"
        )
    }

    /// A client whose subscriptions are signed without a backend.
    func client(port: UInt16, _ change: (inout ClientOptions) -> Void = { _ in }) -> Fanfare {
        var options = ClientOptions()
        options.reconnection.backoff = Backoff(
            floor: .zero,
            window: .milliseconds(2),
            cap: .milliseconds(5)
        )
        options.limits.clientEventsPerSecond = nil
        options.decrypter = SealReader()
        options.authorization.channels = ChannelAuthorizer {
            try Self.authorization(of: $0, for: $1)
        }
        options.authorization.user = UserAuthenticator { socketID in
            let userData = #"{"id":"ann"}"#
            let auth = UserSignature.auth(
                socketID: try #require(SocketID(socketID)),
                userData: userData,
                key: "app-key",
                secret: AppSecret("app-secret")
            )
            return UserAuthentication(auth: auth, userData: userData)
        }
        change(&options)
        let endpoint = Endpoint.plain(host: "127.0.0.1", port: port)
        return Fanfare(key: "app-key", endpoint: endpoint, options: options)
    }

    static func authorization(
        of request: AuthorizationRequest,
        for channel: String
    ) throws -> ChannelAuthorization {
        let member = channel.hasPrefix("presence-") ? #"{"user_id":"ann"}"# : nil
        let auth = ChannelSignature.auth(
            socketID: try #require(SocketID(request.socketID)),
            channel: channel,
            channelData: member,
            key: "app-key",
            secret: AppSecret("app-secret")
        )
        return ChannelAuthorization(auth: auth, channelData: member, sharedSecret: "key")
    }

    func publish(_ number: Int, on channel: String, except: String? = nil) async throws {
        let isSealed = channel.contains("encrypted")
        let text = isSealed ? #"{"nonce":"","ciphertext":"\#(number)"}"# : "\(number)"
        _ = try await api.trigger("e", on: channel, text: text, except: except)
    }

    func stop(_ clients: Fanfare...) async {
        for client in clients { client.disconnect() }
        await relay.stop()
        await server.stop(within: .seconds(1))
    }
}

/// Reads the form of encrypted data, without encryption.
private struct SealReader: EventDecrypter {
    func open(_ data: String, sharedSecret: String) throws(DecryptionFailure) -> String {
        guard let text = JSONMembers(data)?.identifier("ciphertext") else {
            throw .malformed("not sealed")
        }
        return text
    }
}

@Suite("Recovery with a broker", .timeLimit(.minutes(3))) struct BrokerRecoveryTests {
    private static let user = "#server-to-user-ann"

    @Test(
        "Over many cuts at random bytes every event arrives once and in order, and no gap is told",
        arguments: [
            ("room", 300), ("private-room", 60), ("presence-room", 60), ("cache-room", 60),
            ("private-encrypted-room", 60), ("private-encrypted-cache-room", 60), (user, 60),
        ]
    )
    func cuts(name: String, count: Int) async throws {
        let setting = try await Setting()
        let client = setting.client(port: setting.relayPort)
        let (numbers, told, errors) = (Seen<Int>(), Seen<Continuity>(), Seen<FanfareError>())
        client.onError { errors.add($0) }
        let channel = client.channel(name)
        channel.onContinuity { told.add($0) }
        let isUser = name == Self.user
        let deliveries =
            isUser
            ? client.user.deliveries(of: EventName<Int>("e"))
            : channel.subscription().deliveries(of: EventName<Int>("e"))
        let reading = Task {
            var others: [Delivery<Int>] = []
            for try await delivery in deliveries {
                switch delivery {
                case .event(let number, _): numbers.add(number)
                case .recovered: break
                case .gap, .undecodable: others.append(delivery)
                }
            }
            return others
        }
        if isUser { client.signIn() }
        client.connect()
        await eventually("the first subscription") { told.all == [.began] }

        await setting.relay.cut(within: 4_000)
        // The connection that is open is not cut.
        client.suspend()
        client.connect()
        var published = 0
        while await setting.relay.cutCount < count {
            // Not further ahead than connections of this length can follow.
            if published - numbers.all.count < 10 {
                published += 1
                try await setting.publish(published, on: name)
            } else {
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        await setting.relay.cut(within: nil)
        await numbers.wait(for: published)
        published += 1
        try await setting.publish(published, on: name)
        await numbers.wait(for: published)
        #expect(numbers.all == Array(1...published))
        #expect(published > count / 4)
        for continuity in told.all.dropFirst() {
            guard case .resumed = continuity else {
                Issue.record("\(continuity)")
                break
            }
        }
        #expect(errors.all.filter { $0.code == .protocolViolation } == [])
        #expect(channel.position?.serial == UInt64(published))
        reading.cancel()
        #expect(try await reading.value == [])
        await setting.stop(client)
    }

    @Test(
        "What is published between two subscriptions arrives within the grace, with one signature",
        arguments: [true, false]
    )
    func leftChannels(isWithinGrace: Bool) async throws {
        let setting = try await Setting()
        let requests = Seen<String>()
        let client = setting.client(port: setting.port) { options in
            options.authorization.channels = ChannelAuthorizer { request, channel in
                requests.add(channel)
                return try Setting.authorization(of: request, for: channel)
            }
            if !isWithinGrace { options.recovery.resubscribeGrace = .zero }
        }
        let channel = client.channel("private-room")
        let (numbers, told) = (Seen<Int>(), Seen<Continuity>())
        channel.bind(EventName<Int>("e")) { numbers.add($0) }
        channel.onContinuity { told.add($0) }
        channel.subscribe()
        client.connect()
        try await channel.waitUntilSubscribed()
        for number in 1...10 { try await setting.publish(number, on: channel.name) }
        await numbers.wait(for: 10)
        channel.unsubscribe()
        for number in 11...15 { try await setting.publish(number, on: channel.name) }
        channel.subscribe()
        try await channel.waitUntilSubscribed()
        try await setting.publish(16, on: channel.name)
        await numbers.wait(for: isWithinGrace ? 16 : 11)
        #expect(numbers.all == (isWithinGrace ? Array(1...16) : Array(1...10) + [16]))
        #expect(told.all == [.began, isWithinGrace ? .resumed(replayed: 5) : .began])
        #expect(requests.all.count == (isWithinGrace ? 1 : 2))
        await setting.stop(client)
    }

    @Test("Its own client events and those that exclude it leave no hole over many cuts")
    func ownEvents() async throws {
        let setting = try await Setting()
        let (client, other) = (
            setting.client(port: setting.relayPort) { $0.limits.clientEventQueueCountMax = 10_000 },
            setting.client(port: setting.port)
        )
        let (numbers, own, gaps) = (Seen<Int>(), Seen<Int>(), Seen<Continuity>())
        let channel = client.channel("private-room")
        channel.bind(EventName<Int>("e")) { numbers.add($0) }
        channel.onContinuity { if case .gap = $0 { gaps.add($0) } }
        other.channel("private-room").bind(EventName<Int>("client-own")) { own.add($0) }
        for client in [client, other] {
            client.subscribe("private-room")
            client.connect()
            try await client.channel("private-room").waitUntilSubscribed()
        }
        await setting.relay.cut(within: 5_000)
        client.suspend()
        client.connect()
        var (published, triggered) = (0, 0)
        while await setting.relay.cutCount < 60 {
            guard published - numbers.all.count < 10, triggered - own.all.count < 10 else {
                try await Task.sleep(for: .milliseconds(1))
                continue
            }
            published += 1
            try await setting.publish(published, on: "private-room")
            // Refused while a cut has refused the subscription.
            if (try? channel.trigger("client-own", triggered + 1)) != nil { triggered += 1 }
        }
        await setting.relay.cut(within: nil)
        await numbers.wait(for: published)
        await own.wait(for: triggered)
        await eventually("a connection to exclude") { client.socketID != nil }
        try await setting.publish(0, on: "private-room", except: client.socketID)
        published += 1
        try await setting.publish(published, on: "private-room")
        await numbers.wait(for: published)
        #expect(numbers.all == Array(1...published))
        #expect(own.all == Array(1...triggered))
        #expect(gaps.all == [])
        await eventually("the last position") {
            channel.position?.serial == UInt64(published + triggered + 1)
        }
        await setting.stop(client, other)
    }

    @Test("A restart of the broker is a gap: unknown_stream") func restart() async throws {
        let setting = try await Setting()
        let client = setting.client(port: setting.port)
        let told = Seen<Continuity>()
        let channel = client.channel("room")
        channel.onContinuity { told.add($0) }
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        client.connect()
        try await channel.waitUntilSubscribed()
        try await setting.publish(1, on: "room")
        #expect(try await events.event()?.data == "1")
        await setting.server.stop(within: .seconds(5))
        let successor = try await Setting(port: setting.port)
        #expect(try await events.next() == .gap(Gap(.unknownStream)))
        try await successor.publish(2, on: "room")
        #expect(try await events.event()?.data == "2")
        #expect(told.all == [.began, .gap(Gap(.unknownStream))])
        await successor.stop(client)
        await setting.relay.stop()
    }

    @Test("The window has a bound, behind which the missed events are counted")
    func window() async throws {
        let setting = try await Setting { $0.recovery.standard.messagesMax = 10 }
        let client = setting.client(port: setting.port)
        let channel = client.channel("room")
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        client.connect()
        try await channel.waitUntilSubscribed()
        var number = 0
        for count in [10, 11, 25] {
            client.suspend()
            for _ in 0..<count {
                number += 1
                try await setting.publish(number, on: "room")
            }
            client.connect()
            if count > 10 {
                #expect(try await events.next() == .gap(Gap(.truncated, missed: count)))
            } else {
                for expected in 1...10 {
                    #expect(try await events.event()?.data == "\(expected)")
                }
                #expect(try await events.next() == .recovered(count: 10))
            }
        }
        await setting.stop(client)
    }

    @Test("A broker with recovery switched off is told as unknown") func disabled() async throws {
        let setting = try await Setting { $0.recovery.isEnabled = false }
        let client = setting.client(port: setting.port)
        let channel = client.channel("room")
        let told = Continuities(of: channel)
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        for round in 0..<2 {
            client.connect()
            #expect(await told.next() == .unknown)
            if round > 0 { #expect(try await events.next() == .gap(Gap(.brokerHasNoHistory))) }
            client.suspend()
        }
        await setting.stop(client)
    }

    @Test("A rewind begins with earlier events") func rewind() async throws {
        let setting = try await Setting {
            var rule = RecoveryRuleConfiguration()
            rule.settings.keep = .always
            rule.settings.allowsRewind = true
            $0.recoveryRules = [rule]
        }
        for number in 1...5 { try await setting.publish(number, on: "room") }
        let client = setting.client(port: setting.port)
        let deliveries = client.channel("room").subscription(rewind: .count(3))
            .deliveries("e")
        client.connect()
        #expect(try await deliveries.texts(3) == ["3", "4", "5"])
        await setting.stop(client)
    }

    @Test("A channel that opens with earlier events gives them to a client that is new")
    func opening() async throws {
        let setting = try await Setting {
            var rule = RecoveryRuleConfiguration()
            rule.settings.keep = .always
            rule.opening = .replay
            rule.openingCount = 2
            $0.recoveryRules = [rule]
        }
        for number in 1...3 { try await setting.publish(number, on: "room") }
        let client = setting.client(port: setting.port)
        let channel = client.channel("room")
        let told = Continuities(of: channel)
        let deliveries = channel.subscription().deliveries("e")
        client.connect()
        #expect(await told.next() == .rewound(count: 2, isComplete: true))
        try await setting.publish(4, on: "room")
        #expect(try await deliveries.texts(3) == ["2", "3", "4"])
        await setting.stop(client)
    }

    @Test("A purge is a gap in a live subscription, and what follows arrives")
    func purge() async throws {
        let setting = try await Setting()
        let client = setting.client(port: setting.port)
        let channel = client.channel("room")
        let told = Continuities(of: channel)
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        client.connect()
        #expect(await told.next() == .began)
        for round in 1...2 {
            try await setting.publish(round, on: "room")
            guard case .event(let event, _) = try await events.next() else {
                Issue.record("no event in round \(round)")
                return
            }
            #expect(event.data == "\(round)")
            let position = try await setting.api.purgeHistory(of: "room")
            #expect(await told.next() == .gap(Gap(.unknownStream)))
            #expect(try await events.next() == .gap(Gap(.unknownStream)))
            #expect(channel.position?.stream == position?.stream)
        }
        await setting.stop(client)
    }
}
