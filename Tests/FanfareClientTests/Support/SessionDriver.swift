import PusherProtocol
import TestRandom

@testable import FanfareClient

/// A session with a manual clock.
struct SessionDriver {
    var session: ClientSession
    var now = Duration.zero

    static let endpoint = Endpoint.plain(host: "broker.test", port: 6001)

    init(
        activityTimeout: Duration = .seconds(120),
        attemptCountMax: Int? = nil,
        backoff: Backoff = Backoff(),
        signer: LocalSigner? = nil,
        seed: UInt64 = 1,
        change: (inout ClientSession.Settings) -> Void = { _ in }
    ) {
        var settings = ClientSession.Settings(
            endpoint: Self.endpoint,
            activityTimeout: activityTimeout,
            pongTimeout: .seconds(30),
            connectTimeout: .seconds(15),
            attemptCountMax: attemptCountMax,
            backoff: backoff,
            signer: signer
        )
        change(&settings)
        session = ClientSession(settings: settings, generator: SeededRandom(seed: seed))
    }

    /// Returns a connected session with an authorizer.
    static func authorized(
        _ change: (inout ClientSession.Settings) -> Void = { _ in }
    ) -> SessionDriver {
        var driver = SessionDriver { settings in
            settings.authorizes = true
            settings.authenticates = true
            change(&settings)
        }
        _ = driver.session.connect()
        _ = driver.greet()
        return driver
    }

    /// Returns a connected session.
    static func connected(
        activityTimeout: Duration = .seconds(120),
        asked: Int = 120,
        to channels: [String] = []
    ) -> SessionDriver {
        var driver = SessionDriver(activityTimeout: activityTimeout)
        _ = driver.session.connect()
        _ = driver.greet(activityTimeout: asked)
        for channel in channels {
            _ = driver.session.subscribe(to: channel)
            _ = driver.receive(.subscriptionSucceeded(channel: channel, data: "{}"))
        }
        return driver
    }

    mutating func greet(activityTimeout: Int = 120) -> [SessionEffect] {
        receive(
            .connectionEstablished(
                socketID: SocketID(123, 456),
                activityTimeout: activityTimeout
            )
        )
    }

    mutating func receive(_ message: ServerMessage) -> [SessionEffect] {
        session.receive(message, at: now)
    }

    mutating func close(_ code: UInt16?, _ reason: String = "") -> [SessionEffect] {
        session.closed(.closeFrame(code: code, reason: reason), at: now)
    }

    mutating func fire(after time: Duration) -> [SessionEffect] {
        now += time
        return session.timerFired(at: now)
    }
}

/// Subscriptions of tests in which no time passes.
extension ClientSession {
    mutating func subscribe(
        to channel: String,
        with token: ChannelAuthorization? = nil,
        from origin: ChannelTracking? = nil
    ) -> [SessionEffect] {
        subscribe(to: channel, with: token, from: origin, at: .zero)
    }

    mutating func unsubscribe(from channel: String) -> [SessionEffect] {
        unsubscribe(from: channel, at: .zero)
    }
}

extension [SessionEffect] {
    /// The delay of the status `waiting`, if it is among the effects.
    var delay: Duration? {
        for case .status(.waiting(let delay, _)) in self { return delay }
        return nil
    }

    /// The error of the status `failed`, if it is among the effects.
    var failure: FanfareError? {
        for case .status(.failed(let error)) in self { return error }
        return nil
    }

    var opens: Bool { contains(.open) }

    /// The tickets of the requests.
    var tickets: [Int] {
        compactMap {
            switch $0 {
            case .authorize(let ticket, _, _), .requestKey(let ticket, _, _),
                .authenticate(let ticket, _):
                ticket
            default: nil
            }
        }
    }

    /// The sent messages.
    var sent: [ClientMessage] {
        compactMap { if case .send(let message) = $0 { message } else { nil } }
    }

    /// The positions of the sent subscriptions.
    var positions: [PositionRequest] {
        sent.compactMap { message in
            if case .subscribe(_, _, _, let position) = message { position } else { nil }
        }
    }

    /// The gaps told to the sequences of the channels.
    var gaps: [Gap] {
        compactMap {
            if case .gap(let channel, let gap) = $0, channel != Topic.user { gap } else { nil }
        }
    }

    /// The names of the delivered events.
    var delivered: [String] {
        compactMap { if case .deliver(let event, _) = $0 { event.name } else { nil } }
    }

    /// The reported errors.
    var reports: [FanfareError] {
        compactMap { if case .report(let error) = $0 { error } else { nil } }
    }

    /// The reasons for refused channels.
    var refusals: [FanfareError] {
        compactMap { if case .refused(_, let error) = $0 { error } else { nil } }
    }
}

extension ClientMessage {
    static func subscribe(_ channel: String) -> ClientMessage {
        .subscribe(channel: channel, auth: nil, channelData: nil, position: PositionRequest())
    }
}

/// The SDK's type, not the protocol's.
typealias ChannelPosition = FanfareClient.ChannelPosition
