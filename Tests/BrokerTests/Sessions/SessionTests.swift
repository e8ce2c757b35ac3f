import PusherProtocol
import Testing

@testable import Broker

@Suite("A client's session") struct SessionTests {
    private func subscribe(_ channel: String) -> ClientMessage {
        .subscribe(channel: channel, auth: nil, channelData: nil)
    }

    @Test func answersPing() {
        let session = Client()
        #expect(session.receive(.ping, now: 0) == [#"{"event":"pusher:pong","data":{}}"#])
        #expect(session.receive(.pong, now: 0) == [])
    }

    @Test func joinsAPublicChannelOnce() throws {
        let session = Client()
        let name = try ChannelName("userslist")
        #expect(session.receive(subscribe("userslist"), now: 0) == ["join userslist 1"])
        // A requested subscription counts as existing.
        #expect(
            session.receive(subscribe("userslist"), now: 0)
                == [error("Existing subscription to channel userslist")]
        )
        #expect(session.granted(name, request: 1))
        #expect(
            session.receive(subscribe("userslist"), now: 0)
                == [error("Existing subscription to channel userslist")]
        )
        #expect(Array(session.channels) == [name])
    }

    @Test func aLateGrantIsIgnored() throws {
        let session = Client()
        let name = try ChannelName("chat")
        _ = session.receive(subscribe("chat"), now: 0)
        #expect(session.receive(.unsubscribe(channel: "chat"), now: 0) == ["leave chat"])
        #expect(session.receive(subscribe("chat"), now: 0) == ["join chat 2"])
        #expect(!session.granted(name, request: 1), "the grant of the first, abandoned request")
        #expect(session.granted(name, request: 2))
        #expect(!session.granted(name, request: 2), "a grant counts once")
    }

    @Test func unsubscribingFromNothingIsAnError() {
        let session = Client()
        #expect(
            session.receive(.unsubscribe(channel: "chat"), now: 0)
                == [error("No current subscription to channel chat, or subscription in progress")]
        )
    }

    @Test(
        "An invalid name is refused with both events",
        arguments: ["", "a b", "ä", "a/b"]
    )
    func refusesNames(name: String) {
        let session = Client()
        let effects = session.receive(subscribe(name), now: 0)
        #expect(effects.count == 2)
        #expect(effects.first?.contains("pusher:subscription_error") == true)
        #expect(effects.last?.contains(#""event":"pusher:error""#) == true)
        #expect(session.channels.isEmpty)
    }

    @Test func endRemovesEverything() throws {
        let client = Client()
        _ = client.receive(subscribe("one"), now: 0)
        _ = client.receive(subscribe("other"), now: 0)
        let registrations = client.end()
        let names = [try ChannelName("one"), try ChannelName("other")]
        #expect(Set(registrations.subscriptions.channels) == Set(names))
        #expect(registrations.user == nil && registrations.watchedUsers.isEmpty)
        #expect(client.channels.isEmpty)
        #expect(client.end().subscriptions.count == 0)
    }

    @Test(
        "Channels without the required authorization are refused",
        arguments: [
            "private-x", "presence-x", "private-encrypted-x", "private-cache-x",
            "presence-cache-x", "private-encrypted-cache-x", "#server-to-user-1",
        ]
    )
    func refusesOtherKinds(name: String) {
        let session = Client()
        let effects = session.receive(subscribe(name), now: 0)
        #expect(effects.first?.contains("pusher:subscription_error") == true)
        #expect(session.channels.isEmpty)
    }

    @Test func limitsSubscriptions() {
        let session = Client(AppLimits { $0.subscriptionsMax = 2 })
        _ = session.receive(subscribe("a"), now: 0)
        _ = session.receive(subscribe("b"), now: 0)
        let effects = session.receive(subscribe("c"), now: 0)
        #expect(effects.first?.contains("LimitReached") == true)
        _ = session.receive(.unsubscribe(channel: "a"), now: 0)
        #expect(session.receive(subscribe("c"), now: 0) == ["join c 3"])
    }

    @Test func aRefusalOfTheHomeEndsTheRequestThatItAnswers() throws {
        let session = Client()
        let name = try ChannelName("presence-x")
        let data = #"{"user_id":"ann"}"#
        let auth = "app-key:" + AppSecret("app-secret").sign("1.2:presence-x:" + data)
        let subscribe = ClientMessage.subscribe(
            channel: "presence-x",
            auth: auth,
            channelData: data
        )
        #expect(session.receive(subscribe, now: 0) == ["join presence-x as ann 1"])
        _ = session.receive(.unsubscribe(channel: "presence-x"), now: 0)
        #expect(session.receive(subscribe, now: 0) == ["join presence-x as ann 2"])
        #expect(session.refused(name, request: 1) == [], "the first request is abandoned")
        let told = session.refused(name, request: 2)
        #expect(told.count == 2)
        #expect(told.first?.contains(#"\"type\":\"LimitReached\""#) == true)
        #expect(told.first?.contains(#"\"status\":4100"#) == true)
        #expect(session.channels.isEmpty)
        // It may try again, since a member may have left.
        #expect(session.receive(subscribe, now: 0) == ["join presence-x as ann 3"])
    }

    @Test func subscriptionsHaveARate() {
        let session = Client(AppLimits { $0.subscriptionRate = Rate(perSecond: 2) })
        func subscribe(_ channel: String, now: Int64) -> [String] {
            session.receive(
                .subscribe(channel: channel, auth: nil, channelData: nil),
                now: now
            )
        }
        #expect(subscribe("a", now: 7) == ["join a 1"])
        // Refused for another reason, these do not consume the rate.
        #expect(subscribe("a", now: 7).count == 1)
        #expect(subscribe("no name", now: 7).count == 2)
        #expect(subscribe("b", now: 7) == ["join b 2"])
        let refused = subscribe("c", now: 7)
        #expect(refused.count == 2)
        #expect(refused.first?.contains(#"\"type\":\"LimitReached\""#) == true)
        #expect(refused.first?.contains(#"\"status\":4100"#) == true)
        #expect(session.channels.count == 2)
        #expect(subscribe("c", now: 8) == ["join c 3"])
    }

    @Test func aHabitOfFaultsEndsTheConnection() {
        let session = Client(AppLimits { $0.faultsPerMinuteMax = 3 })
        let unknown = ClientMessage.unsupported(event: "pusher:nonsense")
        for _ in 1...3 {
            #expect(
                session.receive(unknown, now: 60)
                    == [error("Unsupported event received on socket: 'pusher:nonsense'")]
            )
        }
        #expect(session.receive(unknown, now: 119).first?.hasPrefix("close 4100") == true)
        // Another minute, another count.
        let patient = Client(AppLimits { $0.faultsPerMinuteMax = 3 })
        for minute in 0..<10 {
            #expect(patient.receive(unknown, now: Int64(minute * 60)).count == 1)
        }
    }

    @Test("A refused signature, and leaving what is not subscribed, are no faults")
    func refusedSignaturesSlowTheConnection() {
        let auth = "app-key:" + AppSecret("app-secret").sign("9.9:private-x")
        let messages: [ClientMessage] = [
            .subscribe(channel: "private-x", auth: auth, channelData: nil),
            .subscribe(channel: "private-x", auth: nil, channelData: nil),
            .signin(auth: auth, userData: #"{"id":"ann"}"#),
        ]
        for message in messages {
            let session = Client(AppLimits { $0.faultsPerMinuteMax = 3 })
            for number in 1...6 {
                let effects = session.receive(message, now: 60)
                #expect(effects.contains { $0.hasPrefix("close") } == false)
                #expect(effects.contains("slowDown") == (number > 3))
            }
            #expect(!session.receive(message, now: 120).contains("slowDown"), "another minute")
        }
        let session = Client(AppLimits { $0.faultsPerMinuteMax = 3 })
        for _ in 1...6 {
            let effects = session.receive(.unsubscribe(channel: "private-x"), now: 60)
            #expect(effects.count == 1 && effects[0].contains("No current subscription"))
        }
    }
}

/// A session whose effects are read as text.
private final class Client {
    private var session: Session

    init(_ limits: AppLimits = AppLimits()) {
        let app = App(
            id: AppID("1"),
            key: "app-key",
            secret: AppSecret("app-secret"),
            limits: limits
        )
        session = Session(socketID: SocketID(1, 2), app: app)
    }

    var channels: [ChannelName] { session.subscriptions.channels }

    func end() -> Session.Registrations { session.end() }

    // `now` is in seconds.
    func receive(_ message: ClientMessage, now: Int64) -> [String] {
        text(session.receive(message, now: now * 1_000_000_000))
    }

    private func text(_ effects: Session.Effects) -> [String] {
        effects.compactMap { effect in
            switch effect {
            case .limitMet: nil
            case .send(let message): String(decoding: message.bytes, as: UTF8.self)
            case .join(let channel, let member, let request):
                "join \(channel.text)\(member.map { " as \($0.id)" } ?? "") \(request)"
            case .joinFrom(let position, let channel, let member, let request):
                "join \(channel.text)\(member.map { " as \($0.id)" } ?? "") \(request) from "
                    + (position.position?.description ?? "the present")
            case .leave(let channel): "leave \(channel.text)"
            case .publish(let event, let channel): "publish \(event.name) on \(channel.text)"
            case .signIn, .watch, .unwatch, .claimQuota, .claimSession, .slowDown: "\(effect)"
            case .close(let code, let message): "close \(code.rawValue) \(message)"
            }
        }
    }

    func granted(_ channel: ChannelName, request: UInt32) -> Bool {
        session.granted(channel, request: request)
    }

    func refused(_ channel: ChannelName, request: UInt32) -> [String] {
        text(
            session.refused(
                channel,
                request: request,
                .full(channel, membersMax: 100),
                now: 0
            )
        )
    }
}

private func error(_ message: String) -> String {
    #"{"event":"pusher:error","data":{"code":null,"message":"\#(message)"}}"#
}
