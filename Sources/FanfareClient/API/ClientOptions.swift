public import Logging

/// What a client does by itself, and what it lets the other side make it hold.
public struct ClientOptions: Sendable {
    /// Silence after which the client asks whether the broker is there; the broker may ask for less.
    public var activityTimeout: Duration = .seconds(120)
    /// How long the answer may take before the connection counts as dead.
    public var pongTimeout: Duration = .seconds(30)
    /// How long it may take from the first packet to the broker's first message.
    public var connectTimeout: Duration = .seconds(15)
    /// Whether a lost connection is opened again.
    public var reconnects = true
    /// How often in a row that is tried before the client gives up; `nil` for as long as it takes.
    public var reconnectAttemptCountMax: Int?
    /// How long to wait before that.
    public var backoff = Backoff()
    /// Whom to trust, with `wss`.
    public var trust: Trust = .system
    /// By which proxy to go, if by any.
    public var proxy: Proxy = .system

    /// The longest message to accept, in bytes; a longer one ends the connection.
    ///
    /// A presence channel's list of members is the longest that a broker has reason to send.
    public var messageLengthMax = 1 << 20
    /// Calls of callbacks that may wait for one queue; from there on the client stops reading.
    ///
    /// The broker then notices a slow reader, and closes the connection if it stays one. Nothing
    /// is lost without a sign: what was received is delivered, then the close is acted upon.
    public var maxPendingCallbacks = 4096
    /// Bytes of data in those calls, with the same consequence.
    public var pendingCallbackBytesMax = 8 << 20

    /// Who lets the client into private, presence and encrypted channels; `nil` for nobody.
    public var channelAuthorizer: ChannelAuthorizer?
    /// Who says which user the client is, for ``FanfareClient/signIn()``; `nil` for nobody.
    public var userAuthenticator: UserAuthenticator?
    /// How long one request to either may take.
    public var authorizationTimeout: Duration = .seconds(10)
    /// How often they are asked again when they cannot answer.
    public var authorizationRetries = AuthorizationRetries()
    /// Opens the events of encrypted channels; `nil` for a client that joins none.
    public var decrypter: (any EventDecrypter)?

    /// Client events that may wait for their channels, or for their turn, all together; more are refused.
    public var clientEventQueueCountMax = 100
    /// Bytes of those events' names and data, with the same consequence.
    public var clientEventQueueBytesMax = 256 << 10
    /// Client events that leave within a second, which is what brokers allow; more wait.
    ///
    /// `nil` for no pause.
    public var clientEventsPerSecond: Int? = 10
    /// The longest data of a client event, in bytes, which is what brokers allow.
    public var clientEventLengthMax = 10_240
    /// Members of a presence channel, and watched users, that are remembered; more are reported and left out.
    public var membersMax = 10_000

    /// Signs where the app's secret is at hand; without it only public channels let the client in.
    package var signer: LocalSigner?
    /// What carries the connection.
    public var transport: any ClientTransport = DefaultTransport.shared
    /// The time to go by.
    public var clock: ClientClock = .continuous
    /// Told what the client does, at debug level and, for what needs attention, as a warning.
    public var logger = Logger(label: "fanfare.client") { _ in SwiftLogNoOpLogHandler() }

    /// The default of each.
    public init() {}
}
