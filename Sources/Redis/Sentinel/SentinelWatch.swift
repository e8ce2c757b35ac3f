public import Net
import RESP

/// Tracks the server that the majority of the Sentinels considers the primary.
///
/// A primary that is cut off from most Sentinels may have been replaced without its knowledge. Then the majority names
/// another one, or cannot be reached. Confined to its reactor's thread.
public final class SentinelWatch {
    /// The Sentinels to query, and the intervals.
    public struct Settings: Sendable {
        /// The name under which the Sentinels monitor the primary.
        public var name: String
        /// The addresses of all Sentinels; more than half of them have to agree.
        public var sentinels: [RedisURL]
        /// The settings of the connections to the Sentinels.
        public var connection: RedisSettings
        /// The time between two queries of a Sentinel.
        public var interval: Duration
        /// The time for which an answer counts.
        public var answerLifetime: Duration

        /// Makes settings; the connections require no primary and load no scripts.
        public init(
            name: String,
            sentinels: [RedisURL],
            connection: RedisSettings = .init(),
            interval: Duration = .milliseconds(500),
            answerLifetime: Duration = .seconds(2)
        ) {
            self.name = name
            self.sentinels = sentinels
            self.connection = connection
            self.connection.requiresPrimary = false
            self.connection.scripts = []
            self.interval = interval
            self.answerLifetime = answerLifetime
        }
    }

    /// The primary; nil while no majority names one.
    public private(set) var primary: SentinelPrimary?

    let settings: Settings
    let reactor: Reactor
    /// Connects to a Sentinel, given by its index.
    let connect: (_ sentinel: Int, _ delegate: any RedisConnectionDelegate) -> RedisConnection
    private var votes: SentinelVotes
    private var peers: [SentinelPeer] = []
    private weak var delegate: (any SentinelWatchDelegate)?
    private var timer: TimerID?

    /// Begins to track the primary.
    ///
    /// - Parameters:
    ///   - settings: The Sentinels to query, and the intervals.
    ///   - tls: The accepted certificates; necessary for secure addresses.
    ///   - reactor: The reactor of the loop. It retains the watch until ``stop()``.
    ///   - delegate: Not retained, and never called from inside this call.
    public convenience init(
        _ settings: Settings,
        tls: TLSContext? = nil,
        on reactor: Reactor,
        delegate: any SentinelWatchDelegate
    ) {
        self.init(settings, on: reactor, delegate: delegate) { sentinel, peer in
            RedisConnection.connect(
                to: settings.sentinels[sentinel],
                tls: tls,
                settings: settings.connection,
                on: reactor,
                delegate: peer
            )
        }
    }

    /// Begins to track the primary over connections that the owner makes, for example of socketpair(2).
    ///
    /// - Parameters:
    ///   - settings: The Sentinels to query, and the intervals.
    ///   - reactor: The reactor of the loop. It retains the watch until ``stop()``.
    ///   - delegate: Not retained, and never called from inside this call.
    ///   - connect: Connects to a Sentinel, given by its index, with the settings of connections; called again when the
    ///     connection has ended.
    package init(
        _ settings: Settings,
        on reactor: Reactor,
        delegate: any SentinelWatchDelegate,
        connect:
            @escaping (_ sentinel: Int, _ delegate: any RedisConnectionDelegate) -> RedisConnection
    ) {
        self.settings = settings
        self.reactor = reactor
        self.connect = connect
        self.delegate = delegate
        votes = SentinelVotes(sentinelCount: settings.sentinels.count)
        peers = settings.sentinels.indices.map { SentinelPeer($0, of: self) }
        tick()
    }

    /// Closes the connections to the Sentinels; the delegate is not called any more.
    public func stop() {
        delegate = nil
        if let timer = timer.take() { reactor.cancel(timer) }
        for peer in peers { peer.close() }
        peers = []
    }

    /// Queries each Sentinel; connects first to those without a connection.
    private func tick() {
        for peer in peers { peer.ask() }
        timer = reactor.schedule(after: settings.interval, self)
    }

    func record(_ primary: SentinelPrimary?, of sentinel: Int, askedAt time: MonotonicTime) {
        votes.record(primary, of: sentinel, askedAt: time)
        evaluate()
    }

    private func evaluate() {
        var majority = votes.majority(at: reactor.timerTime, within: settings.answerLifetime)
        if let primary, let named = majority, named.location == primary.location {
            // Those that know of the last failover may not have answered recently.
            majority?.configurationEpoch = max(named.configurationEpoch, primary.configurationEpoch)
        }
        guard majority != primary else { return }
        primary = majority
        delegate?.sentinels(self, name: majority)
    }
}

extension SentinelWatch: TimerTarget {
    /// Queries again.
    public func timerFired(tag: Int) {
        evaluate()
        tick()
    }
}

/// The owner of a ``SentinelWatch``.
public protocol SentinelWatchDelegate: AnyObject {
    /// Called when the majority names another primary, the same one after a failover, or none any more (nil).
    func sentinels(_ watch: SentinelWatch, name primary: SentinelPrimary?)
}

/// One Sentinel, and the connection to it.
private final class SentinelPeer: RedisConnectionDelegate {
    private let index: Int
    private unowned let watch: SentinelWatch
    private var connection: RedisConnection?
    /// A query of the Sentinel, which has two commands.
    private struct Question {
        let address: CallID
        let details: CallID
        let askedAt: MonotonicTime
        /// The primary's address, once that is answered.
        var location: RedisURL.Location?
    }

    /// The query that is not answered yet.
    private var question: Question?
    private static var switched: String { "+switch-master" }

    init(_ index: Int, of watch: SentinelWatch) {
        self.index = index
        self.watch = watch
    }

    func ask() {
        guard let connection else {
            connection = watch.connect(index, self)
            return
        }
        guard question == nil else { return }
        let name = watch.settings.name
        // In a failover the address changes earlier in this reply than among the details. The epoch is read after it,
        // so it is at least as new, and no server counts as the primary of an earlier epoch.
        guard let address = try? connection.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name),
            let details = try? connection.call("SENTINEL", "MASTER", name)
        else {
            // Not open yet, or no longer: the next query follows soon.
            return
        }
        question = .init(address: address, details: details, askedAt: watch.reactor.timerTime)
    }

    func close() {
        connection?.close()
        connection = nil
    }

    func opened(_ connection: RedisConnection, server: RedisServer) {
        // So that a failover is noticed before the next query.
        _ = try? connection.subscribe(to: [Self.switched])
        ask()
    }

    func received(_ reply: borrowing RESPView, to call: CallID, on connection: RedisConnection) {
        guard let question else { return }
        if call == question.address {
            // Null if the name is unknown.
            let port = reply[1].integer.flatMap { UInt16(exactly: $0) }
            self.question?.location = port.map { .host(reply[0].text, port: $0) }
        } else if call == question.details {
            self.question = nil
            let epoch = reply["config-epoch"].integer ?? 0
            let primary = question.location.map {
                SentinelPrimary(location: $0, configurationEpoch: epoch)
            }
            watch.record(primary, of: index, askedAt: question.askedAt)
        }
    }

    func received(push: borrowing RESPView, on connection: RedisConnection) {
        guard push[0].equals("message") else { return }
        // In a partly answered query the address is the former one, while the epoch will be the new one.
        if question?.location != nil { question = nil }
        ask()
    }

    func closed(_ connection: RedisConnection, _ fault: RedisFault, unanswered: Range<CallID>) {
        self.connection = nil
        question = nil
    }
}
