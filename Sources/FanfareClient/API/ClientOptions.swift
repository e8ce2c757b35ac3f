#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
@_exported public import FanfareOutbox
public import Logging

/// The settings and limits of a client.
///
/// ```swift
/// var options = ClientOptions()
/// options.authorization.channels = .endpoint("https://example.com/pusher/auth")
/// options.reconnection.attemptCountMax = 5
/// ```
public struct ClientOptions: Sendable {
    /// The connection: its proxy, its trust and its timeouts.
    public var network = Network()
    /// The attempts to connect again after a lost connection.
    public var reconnection = Reconnection()
    /// The signatures of the app's backend.
    public var authorization = Authorization()
    /// What the client keeps, so that nothing is lost.
    public var recovery = Recovery()
    /// The most that the client keeps in memory, receives and sends.
    public var limits = Limits()

    /// Decodes the data of typed events, with its strategies for dates and keys.
    public var decoder = JSONDecoder()
    /// Encodes the data of client events.
    public var encoder = JSONEncoder()
    /// Decrypts the events of encrypted channels; `nil` for a client that uses none.
    public var decrypter: (any EventDecrypter)?
    /// The clock for all timeouts.
    public var clock: ClientClock = .continuous
    /// Logs state changes at debug level and problems as warnings or errors.
    public var logger = Logger(label: "fanfare.client") { _ in SwiftLogNoOpLogHandler() }

    /// Signs subscriptions with the app's secret, for a client that has it.
    package var signer: LocalSigner?

    /// Creates options with their defaults.
    public init() {}
}

extension ClientOptions {
    /// The settings of a client's connection.
    public struct Network: Sendable {
        /// The certificates to trust for `wss`.
        public var trust: Trust = .system
        /// The proxy, if any.
        public var proxy: Proxy = .system
        /// The time limit from the first packet to the broker's first message.
        public var connectTimeout: Duration = .seconds(15)
        /// The idle time after which the client sends a ping; the broker may request a shorter time.
        ///
        /// If a silent connection ends without a close frame, as proxies do after 60 or 100 seconds, the client's later
        /// connections send it after three quarters of that silence, at least ten seconds.
        public var activityTimeout: Duration = .seconds(120)
        /// The time to wait for the pong before the connection is closed.
        public var pongTimeout: Duration = .seconds(30)
        /// Whether the client checks its connection when a network interface, an address or a route changes.
        ///
        /// The check is that of ``Fanfare/checkConnection(within:)``: a lost network is detected within seconds.
        public var checksConnectionOnChange = true
        /// Opens the connections.
        public var transport = ClientTransport.network
        /// Observes the network for ``checksConnectionOnChange``.
        var monitor = NetworkMonitor.system
    }

    /// The attempts to connect again after a lost connection.
    public struct Reconnection: Sendable {
        /// The most consecutive attempts before the client fails: `nil` for no limit, zero for no reconnection.
        public var attemptCountMax: Int?
        /// The delay before each attempt.
        public var backoff = Backoff()
    }

    /// The requests to the app's backend for signatures.
    public struct Authorization: Sendable {
        /// Authorises subscriptions to private, presence and encrypted channels; `nil` for public channels only.
        public var channels: ChannelAuthorizer?
        /// Authenticates the user for ``Fanfare/signIn()``; `nil` for no sign-in.
        public var user: UserAuthenticator?
        /// The time limit of one request.
        public var timeout: Duration = .seconds(10)
        /// The most attempts of one request, including the first, while it fails temporarily; at least one.
        public var attemptCountMax = 4
        /// The delay before the next attempt: by default up to one, two and four seconds.
        public var backoff = Backoff(floor: .zero, window: .seconds(1), cap: .seconds(10))
    }

    /// What a client keeps, so that nothing is lost when it loses the connection or the app ends.
    public struct Recovery: Sendable {
        /// Stores client events until the broker has confirmed them, also across restarts of the app; `nil` for memory
        /// only.
        ///
        /// Each client needs its own store.
        public var outbox: (any OutboxStore)?
        /// Stores how far the app has handled its channels' events, so that its next run continues there; `nil` to
        /// store nothing.
        ///
        /// A channel begins at its stored position, also after it was unsubscribed. Without a store, positions last as
        /// long as the subscription and ``resubscribeGrace``. Each client needs its own store.
        public var positions: (any PositionStore)?
        /// How long the client keeps the position of a channel after it was unsubscribed; zero for not at all.
        ///
        /// A subscription within this time continues where the last one ended: the broker sends the events that were
        /// published in between, or reports a gap. On the same connection it also uses the same signature. The client
        /// keeps the last 256 unsubscribed channels.
        public var resubscribeGrace: Duration = .seconds(30)
    }

    /// The limits of a client.
    public struct Limits: Sendable {
        /// The longest message to accept, in bytes; a longer one ends the connection.
        ///
        /// The longest message a broker normally sends is the member list of a presence channel.
        public var messageLengthMax = 1 << 20
        /// The most callback calls that may wait on one executor, and the most elements that may wait for one reader of
        /// a sequence.
        ///
        /// Above it the client stops reading for a callback. If that lasts, the broker's send queue for this connection
        /// fills and the broker closes the connection. The client delivers all received events before it handles the
        /// close, so no event is lost silently.
        ///
        /// For the reader of a sequence it holds back only the reader's channel, and requests the events from the
        /// broker once the reader has caught up to half of the limit. Other channels continue. A reader that reads
        /// nothing for ten seconds gets a gap (``Gap/Reason/overflow``) instead of what has waited; if the broker
        /// numbers no events, it gets one at once.
        public var pendingCallbackCountMax = 4096
        /// The most bytes of event data in those calls or elements, with the same consequence.
        public var pendingCallbackBytesMax = 8 << 20
        /// The most members of a presence channel, and the most watched users, to keep; more are reported and not kept.
        public var membersMax = 10_000
        /// The most client events that may wait, on all channels together; the client refuses more.
        public var clientEventQueueCountMax = 100
        /// The most bytes of names and data of the waiting client events; the client refuses more.
        public var clientEventQueueBytesMax = 256 << 10
        /// The most client events sent per second; more wait.
        ///
        /// The default is what brokers allow; `nil` for no limit.
        public var clientEventsPerSecond: Int? = 10
        /// The longest data of a client event, in bytes.
        ///
        /// The default is what the hosted service allows; Fanfare's own default is 102,400 (`event_data_length_max`).
        public var clientEventLengthMax = 10_240
    }
}
