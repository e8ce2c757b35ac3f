import PusherProtocol
import Testing

@testable import Broker

/// A session of an app, subscribed to given channels.
private final class Sender {
    private var session: Session

    init(
        features: AppFeatures = AppFeatures { $0.clientEvents = true },
        limits: AppLimits = AppLimits(),
        on channels: [String] = []
    ) throws {
        let secret = AppSecret("app-secret")
        let app = App(
            id: AppID("1"),
            key: "app-key",
            secret: secret,
            features: features,
            limits: limits
        )
        session = Session(socketID: SocketID(1, 2), app: app)
        for channel in channels {
            let effects = session.receive(subscription(to: channel, secret), now: 0)
            guard case .join(let name, _, let request) = effects.first else {
                Issue.record("not asked to join \(channel)")
                continue
            }
            let isGranted = session.granted(name, request: request)
            #expect(isGranted)
        }
    }

    private func subscription(to channel: String, _ secret: AppSecret) -> ClientMessage {
        let data = channel.hasPrefix("presence-") ? #"{"user_id":"ann"}"# : nil
        let text = "1.2:\(channel)\(data.map { ":" + $0 } ?? "")"
        let auth = "app-key:" + secret.sign(text)
        return .subscribe(channel: channel, auth: auth, channelData: data)
    }

    func receive(_ message: ClientMessage, now: Int64 = 0) -> Session.Effects {
        session.receive(message, now: now)
    }

    /// Returns the effect of an event: the channel that it is forwarded to, or the error.
    func send(
        _ channel: String,
        nameToken: String = #""client-e""#,
        now: Int64 = 0
    ) -> String {
        let event = ClientEvent(
            nameToken: Array(nameToken.utf8),
            channel: channel,
            dataToken: Array(#""1""#.utf8)
        )
        let effects = session.receive(.clientEvent(event), now: now).filter {
            if case .limitMet = $0 { false } else { true }
        }
        guard effects.count == 1 else { return "\(effects.count) effects" }
        return switch effects[0] {
        case .publish(let sent, let name) where sent == event: "to \(name.text)"
        case .send(.error(let code, let message)):
            "\(code.map { "\($0.rawValue)" } ?? "null") \(message)"
        case .close(let code, _): "close \(code.rawValue)"
        default: "another effect"
        }
    }
}

@Suite("Client events, Pusher protocol §9") struct ClientEventsTests {
    @Test(
        "Clients may send on every kind of channel that needs a signature",
        arguments: [
            "private-x", "private-cache-x", "private-encrypted-x", "private-encrypted-cache-x",
            "presence-x", "presence-cache-x",
        ]
    )
    func accepts(channel: String) throws {
        #expect(try Sender(on: [channel]).send(channel) == "to \(channel)")
    }

    @Test("If client events are disabled, the error says how to enable them")
    func featureOff() throws {
        let sender = try Sender(
            features: AppFeatures { $0.clientEvents = false },
            on: ["private-x"]
        )
        let answer = sender.send("private-x")
        #expect(answer.hasPrefix("null To send client events, you must enable this feature"))
        #expect(answer.contains("features.client_events"))
    }

    @Test(
        "A public channel accepts no client events",
        arguments: ["chat", "cache-chat", "#server-to-user-ann", "privatefoo"]
    )
    func openChannels(channel: String) throws {
        let sender = try Sender(on: channel.hasPrefix("#") ? [] : [channel])
        #expect(
            sender.send(channel)
                == "null Client event rejected - only supported on private and presence channels"
        )
    }

    @Test(
        "A client that is not subscribed cannot send",
        arguments: ["private-other", "presence-other", "no name", ""]
    )
    func notSubscribed(channel: String) throws {
        #expect(
            try Sender(on: ["private-x"]).send(channel)
                == "null Cannot broadcast client event (connection not subscribed to channel \(channel))"
        )
    }

    @Test("A subscription is valid from its grant to its end")
    func onlyWhileSubscribed() throws {
        let sender = try Sender(on: ["private-x"])
        let auth = "app-key:" + AppSecret("app-secret").sign("1.2:private-late")
        let subscribe = ClientMessage.subscribe(
            channel: "private-late",
            auth: auth,
            channelData: nil
        )
        #expect(sender.receive(subscribe).count == 1)
        #expect(sender.send("private-late").hasPrefix("null Cannot broadcast"))
        _ = sender.receive(.unsubscribe(channel: "private-x"))
        #expect(sender.send("private-x").hasPrefix("null Cannot broadcast"))
    }

    @Test("One event too many in a second is dropped with 4301, and the connection stays open")
    func rate() throws {
        let sender = try Sender(
            limits: AppLimits {
                $0.clientEventRate = Rate(perSecond: 10)
                $0.faultsPerMinuteMax = 5
            },
            on: ["private-x"]
        )
        for _ in 0..<10 { #expect(sender.send("private-x") == "to private-x") }
        // Any number: exceeding the rate is not a fault.
        for _ in 0..<100 {
            #expect(
                sender.send("private-x")
                    == "4301 Client event rejected due to rate limit: a connection may send 10 a second"
            )
        }
        #expect(sender.send("private-x", now: 100_000_000) == "to private-x")
        #expect(sender.send("private-x", now: 100_000_000).hasPrefix("4301"))
        for _ in 0..<10 { #expect(sender.send("private-x", now: 2_000_000_000) == "to private-x") }
    }

    @Test("A refused event does not consume the rate")
    func refusedCostsNothing() throws {
        let sender = try Sender(
            limits: AppLimits { $0.clientEventRate = Rate(perSecond: 1) },
            on: ["private-x"]
        )
        for _ in 0..<5 { #expect(sender.send("private-y").hasPrefix("null Cannot")) }
        #expect(sender.send("private-x") == "to private-x")
        #expect(sender.send("private-x").hasPrefix("4301"))
    }

    @Test("Too many faults close the connection with 4100")
    func habit() throws {
        let sender = try Sender(limits: AppLimits { $0.faultsPerMinuteMax = 3 }, on: ["private-x"])
        for _ in 0..<3 { #expect(sender.send("chat").hasPrefix("null")) }
        #expect(sender.send("chat") == "close 4100")
    }
}
