import PusherProtocol
import TestRandom

@testable import FanfareClient

/// A session and the little that a test needs around it: a clock that is moved by hand.
struct SessionDriver {
    var session: ClientSession
    var now = Duration.zero

    static let endpoint = Endpoint.plain(host: "broker.test", port: 6001)

    init(
        activityTimeout: Duration = .seconds(120),
        reconnects: Bool = true,
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
            reconnects: reconnects,
            backoff: backoff,
            signer: signer
        )
        change(&settings)
        session = ClientSession(settings: settings, generator: SeededRandom(seed: seed))
    }

    /// A session that the broker has greeted, and that has somebody who signs.
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

    /// A session that the broker has greeted.
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

extension [SessionEffect] {
    /// The delay of the status `waiting`, if that is among the effects.
    var delay: Duration? {
        for case .status(.waiting(let delay, _)) in self { return delay }
        return nil
    }

    /// The error of the status `failed`, if that is among the effects.
    var failure: FanfareError? {
        for case .status(.failed(let error)) in self { return error }
        return nil
    }

    var opens: Bool { contains(.open) }

    /// The numbers of the tickets that are asked for.
    var tickets: [Int] {
        compactMap {
            switch $0 {
            case .authorize(let ticket, _, _), .authenticate(let ticket, _): ticket
            default: nil
            }
        }
    }

    /// The messages that are sent.
    var sent: [ClientMessage] {
        compactMap { if case .send(let message) = $0 { message } else { nil } }
    }

    /// The names of the events that are delivered.
    var delivered: [String] {
        compactMap { if case .deliver(let event) = $0 { event.name } else { nil } }
    }

    /// What is reported.
    var reports: [FanfareError] {
        compactMap { if case .report(let error) = $0 { error } else { nil } }
    }

    /// Why channels are refused.
    var refusals: [FanfareError] {
        compactMap { if case .refused(_, let error) = $0 { error } else { nil } }
    }
}

extension ClientMessage {
    static func subscribe(_ channel: String) -> ClientMessage {
        .subscribe(channel: channel, auth: nil, channelData: nil)
    }
}
