public import RESP

/// The settings of a connection.
public struct RedisSettings: Sendable {
    /// The user of `AUTH`; nil for the user `default`.
    public var username: String?
    /// The password of `AUTH`; nil for none.
    public var password: String?
    /// The name of the connection in `CLIENT LIST`, without spaces; nil for none.
    public var clientName: String?
    /// The scripts to load.
    public var scripts: [RedisScript]
    /// Whether a replica is refused.
    public var requiresPrimary: Bool
    /// The time until the connection is open: connecting, TLS and handshake.
    public var openTimeout: Duration
    /// The time within which each call has to be answered.
    public var answerTimeout: Duration
    /// The maximum size of unanswered commands, in bytes.
    public var unansweredBytesMax: Int
    /// The limits of each reply and push.
    public var limits: RESPLimits

    /// Makes settings.
    public init(
        username: String? = nil,
        password: String? = nil,
        clientName: String? = nil,
        scripts: [RedisScript] = [],
        requiresPrimary: Bool = true,
        openTimeout: Duration = .seconds(5),
        answerTimeout: Duration = .seconds(3),
        unansweredBytesMax: Int = 64 << 20,
        limits: RESPLimits = .init()
    ) {
        self.username = username
        self.password = password
        self.clientName = clientName
        self.scripts = scripts
        self.requiresPrimary = requiresPrimary
        self.openTimeout = openTimeout
        self.answerTimeout = answerTimeout
        self.unansweredBytesMax = unansweredBytesMax
        self.limits = limits
    }
}
