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
        // A subscription that still waits counts as existing.
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

    @Test func aGrantThatComesTooLateIsNotTaken() throws {
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
        "A name outside the grammar is refused with both events",
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

    @Test(
        "Channels that need what is not there are refused",
        arguments: [
            "private-x", "presence-x", "private-encrypted-x", "cache-x", "#server-to-user-1",
        ]
    )
    func refusesOtherKinds(name: String) {
        let session = Client()
        let effects = session.receive(subscribe(name), now: 0)
        #expect(effects.first?.contains("pusher:subscription_error") == true)
        #expect(session.channels.isEmpty)
    }

    @Test func limitsSubscriptions() {
        let session = Client(AppLimits(subscriptionsMax: 2))
        _ = session.receive(subscribe("a"), now: 0)
        _ = session.receive(subscribe("b"), now: 0)
        let effects = session.receive(subscribe("c"), now: 0)
        #expect(effects.first?.contains("LimitReached") == true)
        _ = session.receive(.unsubscribe(channel: "a"), now: 0)
        #expect(session.receive(subscribe("c"), now: 0) == ["join c 3"])
    }

    @Test func aHabitOfFaultsEndsTheConnection() {
        let session = Client(AppLimits(faultsPerMinuteMax: 3))
        let unknown = ClientMessage.unsupported(event: "pusher:nonsense")
        for _ in 1...3 {
            #expect(
                session.receive(unknown, now: 60)
                    == [error("Unsupported event received on socket: 'pusher:nonsense'")]
            )
        }
        #expect(session.receive(unknown, now: 119).first?.hasPrefix("close 4100") == true)
        // Another minute, another count.
        let patient = Client(AppLimits(faultsPerMinuteMax: 3))
        for minute in 0..<10 {
            #expect(patient.receive(unknown, now: Int64(minute * 60)).count == 1)
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

    var channels: [ChannelName] { Array(session.channels) }

    func receive(_ message: ClientMessage, now: Int64) -> [String] {
        session.receive(message, now: now).map { effect in
            switch effect {
            case .send(let message): String(decoding: message.bytes, as: UTF8.self)
            case .join(let channel, let request): "join \(channel.text) \(request)"
            case .leave(let channel): "leave \(channel.text)"
            case .close(let code, let message): "close \(code.rawValue) \(message)"
            }
        }
    }

    func granted(_ channel: ChannelName, request: UInt32) -> Bool {
        session.granted(channel, request: request)
    }
}

private func error(_ message: String) -> String {
    #"{"event":"pusher:error","data":{"code":null,"message":"\#(message)"}}"#
}
