import PusherProtocol

/// The end of a connection, or of an attempt to open one.
struct ConnectionLoss {
    let error: FanfareError
    private(set) var reconnection = PusherCode.Reconnection.backOff
    /// Whether the broker refused the connection because of a limit.
    private(set) var isOverload = false

    /// Creates a loss after which the client backs off.
    init(_ error: FanfareError) { self.error = error }

    /// Creates a loss with a close code of the protocol, which determines the reconnection.
    init(code: PusherCode, reason: String) {
        let text = reason.isEmpty ? code.message : reason
        // Codes below 1000 are not close codes: a retry would not help.
        guard code.reconnection != .never, code.rawValue >= 1000 else {
            error = .refused(code: code.rawValue, message: text)
            reconnection = .never
            return
        }
        error = .closed(code: code.rawValue, reason: text)
        reconnection = code.reconnection
        isOverload = (4100..<4200).contains(code.rawValue)
    }

    /// Creates the loss of a transport to an endpoint; a fatal error that came last replaces a missing reason.
    init(
        _ closure: TransportClosure,
        of endpoint: Endpoint,
        after fatal: (code: PusherCode, message: String)?
    ) {
        switch (closure, fatal) {
        case (.closeFrame(let code?, let reason), _) where code >= 3000:
            self.init(code: PusherCode(rawValue: Int(code)), reason: reason)
        case (.closeFrame, let fatal?), (.cut, let fatal?):
            self.init(code: fatal.code, reason: fatal.message)
        case (.closeFrame(let code, let reason), nil):
            self.init(.closed(code: code.map(Int.init), reason: reason))
        case (.cut(let reason), nil): self.init(.closed(code: nil, reason: reason))
        case (.unreachable(let reason), _): self.init(.unreachable(endpoint, reason: reason))
        case (.untrusted(let reason), _): self.init(.untrusted(endpoint, reason: reason))
        case (.proxyFailed(let reason), _): self.init(.proxyFailed(reason: reason))
        case (.upgradeRefused(let reason), _): self.init(.upgradeRefused(endpoint, reason: reason))
        case (.protocolViolation(let text), _): self.init(.protocolViolation(text))
        }
    }
}

/// Decides whether and when a client reconnects.
struct ReconnectionPolicy {
    enum Step {
        case never
        case immediately
        case after(Duration)
    }

    /// The age at which a connection counts as stable; an earlier close counts as a failure.
    ///
    /// Without it the client would reconnect without delay to a broker that accepts and closes at once.
    static let stableAfter = Duration.seconds(10)

    /// The number of consecutive connections and attempts without a stable connection.
    private var failures = 0

    /// Whether the first of these attempts was made at once; it does not widen the window of the delays.
    private var beganAtOnce = false

    /// The number of the next attempt, from one.
    var attempt: Int { failures + 1 }

    /// Starts to count again.
    mutating func reset() { self = ReconnectionPolicy() }

    /// Returns the step after a loss of a connection that was established `age` ago, or never.
    ///
    /// At most `attemptCountMax` attempts in a row are made; the delay's random part is from the generator.
    mutating func step(
        after loss: ConnectionLoss,
        age: Duration?,
        attemptCountMax: Int,
        _ backoff: Backoff,
        using generator: inout some RandomNumberGenerator
    ) -> Step {
        if let age, age >= Self.stableAfter { reset() }
        guard loss.reconnection != .never, attempt <= attemptCountMax else { return .never }
        defer { failures += 1 }
        if loss.reconnection == .immediately, failures == 0 {
            beganAtOnce = true
            return .immediately
        }
        let delay = backoff.delay(failures: failures - (beganAtOnce ? 1 : 0), using: &generator)
        return .after(loss.isOverload ? max(delay, .seconds(1)) : delay)
    }
}
