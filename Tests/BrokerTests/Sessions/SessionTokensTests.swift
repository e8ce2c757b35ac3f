import PusherProtocol
import Testing

@testable import Broker

/// A connection with a session token, as a class, because `#expect` takes no mutating calls.
private final class Connection {
    var session = Session(
        socketID: SocketID(1, 2),
        app: App(id: AppID("1"), key: "key", secret: AppSecret("secret"))
    )

    init() throws {
        session.use(try SessionToken("midc1z40-0123456789abcdef"), at: 5)
    }

    /// Receives a message at a time in seconds.
    func receive(_ message: ClientMessage, at seconds: Int64 = 0) -> [String] {
        text(session.receive(message, now: seconds * 1_000_000_000))
    }
    func receive(_ answer: SessionAnswer) -> [String] { text(session.receive(answer)) }

    func subscribe(_ channel: String, at seconds: Int64 = 0) -> [String] {
        receive(.subscribe(channel: channel, auth: nil, channelData: nil), at: seconds)
    }

    func unsubscribe(_ channel: String, at seconds: Int64 = 0) -> [String] {
        receive(.unsubscribe(channel: channel), at: seconds)
    }

    func own(_ cursors: [(String, UInt64)], mayLackCursors: Bool = false) throws -> [String] {
        let cursors = try cursors.map { channel, serial in
            SessionCursor(
                try ChannelName(channel),
                ChannelPosition(stream: StreamID(bits: 1), serial: serial)
            )
        }
        return receive(
            .owned(
                SessionResumption(
                    cursors,
                    formerSocketIDs: [SocketID(8, 8)],
                    mayLackCursors: mayLackCursors
                )
            )
        )
    }

    /// Grants a subscription, and returns what the client is told.
    func grant(
        _ channel: String,
        request: UInt32,
        at serial: UInt64 = 0,
        _ continuity: SubscriptionStart.Continuity = .began
    ) throws -> TokenStart? {
        let name = try ChannelName(channel)
        guard session.granted(name, request: request, isTracked: true) else { return nil }
        let position = ChannelPosition(stream: StreamID(bits: 1), serial: serial)
        let start = session.begin(name, at: SubscriptionStart(position, continuity))
        if case .recovered(let count) = continuity {
            session.replay(upTo: serial + UInt64(count), of: name, length: 0)
        }
        return start
    }

    func end() -> Session.Registrations { session.end() }
    func yield() -> SessionHandover? { session.yield(at: 0) }
    func share() -> [String] { text(session.share()) }

    private func text(_ effects: Session.Effects) -> [String] {
        effects.map { effect in
            switch effect {
            case .claimSession(let claim): "claim \(claim.openedAt)"
            case .join(let channel, _, let request): "join \(channel.text) \(request)"
            case .joinFrom(let position, let channel, _, let request):
                "join \(channel.text) \(request) from \(position.position?.serial ?? 0)"
                    + position.formerSocketIDs.map { " \($0.first)" }.joined()
            case .leave(let channel): "leave \(channel.text)"
            case .send(.error): "error"
            case .send(.event(let event)): "\(event.name) \(event.channel ?? "")"
            default: "\(effect)"
            }
        }
    }
}

@Suite("The session of a client with a token") struct SessionTokensTests {
    @Test("The first subscription claims, and all wait for the answer")
    func claims() throws {
        let connection = try Connection()
        #expect(connection.receive(.ping).count == 1)
        #expect(connection.subscribe("a") == ["claim 5"])
        #expect(connection.subscribe("b").isEmpty && connection.subscribe("c").isEmpty)
        // The homes know of neither.
        #expect(connection.receive(.unsubscribe(channel: "b")).isEmpty)
        #expect(
            try connection.own([("a", 4), ("d", 9)]) == ["join a 1 from 4 8 1", "join c 3 from 0"]
        )
        #expect(connection.subscribe("d") == ["join d 4 from 9 8 1"])
        #expect(
            try connection.own([("d", 9)]).isEmpty,
            "a second answer"
        )
    }

    @Test("A channel that was left, pending or granted, goes on within the grace, and not after it")
    func leaves() throws {
        let connection = try Connection()
        _ = connection.subscribe("a")
        _ = try connection.own([("a", 4)])
        #expect(connection.unsubscribe("a", at: 1) == ["leave a"])
        #expect(connection.subscribe("a", at: 31) == ["join a 2 from 4 8 1"])
        _ = try connection.grant("a", request: 2, at: 4, .recovered(replay: 2))
        _ = connection.session.ask(at: 0)
        _ = connection.session.receivePong(frame: nil, at: 0)
        #expect(connection.unsubscribe("a", at: 40) == ["leave a"])
        #expect(connection.subscribe("a", at: 41) == ["join a 3 from 6 8 1"], "confirmed since")
        _ = try connection.grant("a", request: 3, at: 6, .recovered(replay: 0))
        #expect(connection.unsubscribe("a", at: 50) == ["leave a"])
        #expect(connection.subscribe("a", at: 81) == ["join a 4 from 0"])
    }

    @Test("The next connection gets what was left, since a return may be lost with a dead one")
    func leavesAtTheEnd() throws {
        let connection = try Connection()
        _ = connection.subscribe("a")
        _ = try connection.own([("a", 4)])
        _ = connection.unsubscribe("a")
        let handover = connection.session.end(at: 60_000).handover
        #expect(handover?.cursors.map(\.position.serial) == [4])
    }

    @Test("Of many channels that were left, the last 64 are kept")
    func leavesMany() throws {
        let connection = try Connection()
        _ = connection.subscribe("0")
        _ = try connection.own((0..<70).map { ("\($0)", 4) })
        for channel in 1..<70 { _ = connection.subscribe("\(channel)") }
        for channel in 0..<70 {
            let message = ClientMessage.unsubscribe(channel: "\(channel)")
            _ = connection.session.receive(message, now: Int64(channel) * 10_000_000)
        }
        let kept = try #require(connection.session.end(at: 700).handover).cursors
        #expect(Set(kept.map(\.channel.text)) == Set((6..<70).map { "\($0)" }))
    }

    @Test("Who ends while it waits leaves nothing at the homes of channels")
    func endsEarly() throws {
        let connection = try Connection()
        _ = connection.subscribe("a")
        let registrations = connection.end()
        #expect(registrations.subscriptions.count == 0 && registrations.handover == nil)
    }

    @Test("An end hands over what is confirmed, and what was not asked for")
    func handsOver() throws {
        let connection = try Connection()
        _ = connection.subscribe("a")
        _ = try connection.own([("a", 4), ("d", 9)])
        let start = try connection.grant("a", request: 1, at: 4, .recovered(replay: 2))
        #expect(start == TokenStart(isResumed: true, gap: nil))
        let handover = try #require(connection.end().handover)
        #expect(
            Dictionary(
                uniqueKeysWithValues: handover.cursors.map {
                    ($0.channel.text, $0.position.serial)
                }
            ) == ["a": 4, "d": 9]
        )
    }

    @Test("Of a client that has answered a pusher:ping, no pong frame counts over any connection")
    func rememberedAnswers() throws {
        let connection = try Connection()
        _ = connection.subscribe("a")
        _ = try connection.own([("a", 4)])
        _ = try connection.grant("a", request: 1, at: 4, .recovered(replay: 2))
        _ = connection.session.ask(at: 0)
        _ = connection.session.receivePong(frame: nil, at: 0)
        let handover = try #require(connection.end().handover)
        #expect(handover.answersPings && handover.cursors.map(\.position.serial) == [6])
        let next = try Connection()
        _ = next.subscribe("a")
        _ = next.receive(.owned(SessionResumption(handover.cursors, answersPings: true)))
        _ = try next.grant("a", request: 1, at: 6, .recovered(replay: 1))
        let request = next.session.ask(at: 0)
        #expect(request?.hasMessage == true && request?.frame == nil)
    }

    @Test(
        "Gaps are told with the reason of the broker, or of the session",
        arguments: [(true, RecoveryGap?.some(RecoveryGap(.unknownSession))), (false, nil)]
    )
    func gaps(mayLackCursors: Bool, gap: RecoveryGap?) throws {
        let connection = try Connection()
        _ = connection.subscribe("a")
        _ = try connection.own([("a", 4)], mayLackCursors: mayLackCursors)
        let truncated = RecoveryGap(.truncated, missed: 7)
        #expect(try connection.grant("a", request: 1, at: 11, .gap(truncated))?.gap == truncated)
        _ = connection.subscribe("b")
        #expect(try connection.grant("b", request: 2)?.gap == gap)
    }

    @Test("Who has handed over follows nothing any more, whatever is granted")
    func yields() throws {
        let connection = try Connection()
        _ = connection.subscribe("a")
        _ = try connection.own([("a", 4)])
        _ = connection.subscribe("b")
        let handover = try #require(connection.yield())
        #expect(handover.cursors.map(\.position.serial) == [4])
        #expect(connection.yield() == nil)
        #expect(try connection.grant("a", request: 1, at: 4, .recovered(replay: 0)) == nil)
        #expect(connection.subscribe("c") == ["join c 3"])
        #expect(connection.end().handover == nil)
    }

    @Test("Two clients with one token are told once, although both pings of a check are answered")
    func shared() throws {
        let connection = try Connection()
        _ = connection.subscribe("a")
        _ = try connection.own([])
        _ = try connection.grant("a", request: 1)
        #expect(connection.share() == ["error", "pusher:gap a"])
        #expect(connection.share() == [])
    }

    @Test(
        "Without the session, subscriptions go on without recovery",
        arguments: [
            (SessionAnswer.superseded, ["join a 1"]), (.shared, ["error", "join a 1"]),
            (.full(sessionsMax: 1, mayLackCursors: true), ["error", "join a 1"]),
        ]
    )
    func refused(answer: SessionAnswer, effects: [String]) throws {
        let connection = try Connection()
        _ = connection.subscribe("a")
        #expect(connection.receive(answer) == effects)
    }
}
