public import Net
public import RESP

/// Confirms that the replicas of a primary have everything that it has executed, for `acknowledge: replica`.
///
/// It uses a second connection beside the publishing one, because `WAIT` blocks the connection that calls it. A round
/// of `INCRBY counter 0`, `WAIT` and `INFO replication` confirms everything that the primary had executed before the
/// round began, on any connection. `WAIT` (redis.io/commands/wait) waits for the offset in the replication stream that
/// the connection has last seen, and the write proves that the server is still a primary. One round is in progress at a
/// time; requests made meanwhile share the next one.
///
/// It ends if the server is not, or no longer, the one that has executed the calls. A primary that became a replica and
/// was promoted again has the data of another server, and its replicas confirm nothing of its former data.
///
/// Confined to its reactor's thread.
public final class ReplicaAcknowledgements {
    /// The settings.
    public struct Settings: Sendable {
        /// The settings of the connection; it loads no scripts.
        public var connection: RedisSettings
        /// A counter to which 0 is added; in a Redis Cluster, one of a partition that the primary has.
        public var counter: RedisKey
        /// The number of replicas that have to confirm, at least 1.
        public var replicaCount: Int
        /// How long a round waits for them, rounded up to milliseconds; shorter than the connection's `answerTimeout`.
        public var timeout: Duration

        /// Makes settings.
        public init(
            connection: RedisSettings,
            counter: RedisKey,
            replicaCount: Int,
            timeout: Duration = .seconds(1)
        ) {
            precondition(replicaCount > 0, "no replicas confirm")
            precondition(timeout < connection.answerTimeout, "the connection ends before a round")
            self.connection = connection
            self.connection.scripts = []
            self.connection.requiresPrimary = true
            self.counter = counter
            self.replicaCount = replicaCount
            self.timeout = timeout
        }
    }

    /// The number of a round; rounds end in their order.
    public struct Round: Hashable, Comparable, Sendable {
        /// The number, from 1 on.
        public let number: UInt64

        /// Compares by number.
        public static func < (left: Round, right: Round) -> Bool { left.number < right.number }
    }

    /// The settings.
    public let settings: Settings
    /// The number of replicas that were connected to the primary at the end of the last round, or when it was opened.
    public var connectedReplicaCount: Int { server.replicaCount }
    private var server: RedisServer
    private weak var delegate: (any ReplicaAcknowledgementsDelegate)?
    private var connection: RedisConnection?
    /// The round that is requested next.
    private var next = Round(number: 1)
    private var isRequested = false
    private var current: RoundUnderWay?

    /// A round whose commands are sent.
    private struct RoundUnderWay {
        let round: Round
        /// The calls of `INCRBY`, `WAIT` and `INFO`.
        let write: CallID
        let wait: CallID
        let info: CallID
        /// The number of replicas that have confirmed; nil before the reply.
        var replicaCount: Int64?
        /// The error if the write was refused.
        var refusal: RedisError?
    }

    private init(
        _ settings: Settings,
        of server: RedisServer,
        delegate: any ReplicaAcknowledgementsDelegate
    ) {
        self.settings = settings
        self.server = server
        self.delegate = delegate
    }

    /// Connects to a primary.
    ///
    /// - Parameters:
    ///   - url: The server's address.
    ///   - tls: The accepted certificates; necessary for a secure address.
    ///   - settings: The settings.
    ///   - server: The server that executes the calls, as its connection has described it. Its process has to be known.
    ///   - reactor: The reactor of the loop.
    ///   - delegate: Not retained, and never called from inside this call.
    /// - Returns: The acknowledgements, which the owner has to close. Rounds can be requested at once, and begin when
    ///   the connection is open.
    public static func connect(
        to url: RedisURL,
        tls: TLSContext? = nil,
        settings: Settings,
        of server: RedisServer,
        on reactor: Reactor,
        delegate: any ReplicaAcknowledgementsDelegate
    ) -> ReplicaAcknowledgements {
        let acknowledgements = ReplicaAcknowledgements(settings, of: server, delegate: delegate)
        acknowledgements.connection = .connect(
            to: url,
            tls: tls,
            settings: settings.connection,
            on: reactor,
            delegate: acknowledgements
        )
        return acknowledgements
    }

    /// Uses a socket that is already connected, for example one end of a socketpair(2).
    ///
    /// The parameters are those of ``connect(to:tls:settings:of:on:delegate:)``.
    public static func adopt(
        _ descriptor: consuming FileDescriptor,
        settings: Settings,
        of server: RedisServer,
        on reactor: Reactor,
        delegate: any ReplicaAcknowledgementsDelegate
    ) throws(SystemError) -> ReplicaAcknowledgements {
        let acknowledgements = ReplicaAcknowledgements(settings, of: server, delegate: delegate)
        acknowledgements.connection = try .adopt(
            descriptor,
            settings: settings.connection,
            on: reactor,
            delegate: acknowledgements
        )
        return acknowledgements
    }

    /// Requests the confirmation of everything whose replies were received until now, and returns the round that
    /// confirms it.
    ///
    /// Call it once a turn, after the replies of the turn. It throws ``RedisCallError/notOpen`` after the end.
    public func request() throws(RedisCallError) -> Round {
        guard connection != nil else { throw .notOpen }
        let round = next
        isRequested = true
        begin()
        return round
    }

    /// Ends the connection; the delegate's `closed` follows.
    public func close() { connection?.close() }

    /// Begins the next round if it is requested and none is in progress.
    private func begin() {
        guard isRequested, current == nil, let connection, connection.isOpen else { return }
        let milliseconds = Int((settings.timeout / .milliseconds(1)).rounded(.up))
        do throws(RedisCallError) {
            let write = try connection.call(argumentCount: 3) { writer in
                writer.argument(literal: "INCRBY")
                writer.argument(settings.counter)
                writer.argument(0)
            }
            let wait = try connection.call("WAIT", "\(settings.replicaCount)", "\(milliseconds)")
            // After the confirmations, so that it covers everything until then.
            let info = try connection.call("INFO", "replication")
            current = RoundUnderWay(round: next, write: write, wait: wait, info: info)
            next = Round(number: next.number + 1)
            isRequested = false
        } catch {
            // Not even three small commands fit into the limit of unanswered bytes.
            connection.close()
        }
    }

    private func end(_ round: RoundUnderWay) {
        current = nil
        let count = Int(round.replicaCount ?? 0)
        if round.refusal == nil, count >= settings.replicaCount {
            delegate?.acknowledgements(self, confirm: round.round)
        } else {
            delegate?.acknowledgements(
                self,
                miss: round.round,
                replicaCount: count,
                refusal: round.refusal
            )
        }
        begin()
    }

    /// Whether a server is the process that executes the calls, and has followed no other since.
    private func isSame(_ other: RedisServer) -> Bool {
        // The history of a primary gets another ID when its first replica connects, but then it has no former one.
        other.replicationID == server.replicationID || other.formerReplicationID == nil
    }
}

extension ReplicaAcknowledgements: RedisConnectionDelegate {
    /// Begins the first round.
    public func opened(_ connection: RedisConnection, server: RedisServer) {
        guard server.runID != nil, server.runID == self.server.runID, isSame(server) else {
            return connection.fail(.anotherServer)
        }
        self.server = server
        begin()
    }

    /// Receives the replies of the round.
    public func received(
        _ reply: borrowing RESPView,
        to call: CallID,
        on connection: RedisConnection
    ) {
        guard var round = current else { return }
        let error = RedisError(reply)
        switch call {
        case round.write: round.refusal = error
        case round.wait: round.replicaCount = error == nil ? reply.integer : nil
        default:
            var server = server
            if let error { return connection.fail(.refused(error)) }
            server.read(replication: reply.text)
            guard server.isPrimary, isSame(server) else { return connection.fail(.anotherServer) }
            self.server = server
            return end(round)
        }
        current = round
    }

    /// Nothing is subscribed to.
    public func received(push: borrowing RESPView, on connection: RedisConnection) {}

    /// Ends the rounds that are not confirmed.
    public func closed(
        _ connection: RedisConnection,
        _ fault: RedisFault,
        unanswered: Range<CallID>
    ) {
        self.connection = nil
        let first = current?.round ?? next
        current = nil
        delegate?.acknowledgements(self, closed: fault, since: first)
    }
}

/// The owner of ``ReplicaAcknowledgements``.
public protocol ReplicaAcknowledgementsDelegate: AnyObject {
    /// Called when enough replicas have everything that was executed before a round.
    func acknowledgements(
        _ acknowledgements: ReplicaAcknowledgements,
        confirm round: ReplicaAcknowledgements.Round
    )

    /// Called when too few replicas have confirmed in time, so that earlier calls may be lost in a failover.
    ///
    /// `replicaCount` replicas have confirmed, and `refusal` is the error if the server refuses writes. The
    /// acknowledgements continue.
    func acknowledgements(
        _ acknowledgements: ReplicaAcknowledgements,
        miss round: ReplicaAcknowledgements.Round,
        replicaCount: Int,
        refusal: RedisError?
    )

    /// Called once, as the last event, also if the connection was never open.
    ///
    /// `round` is the first round that is not confirmed; all later ones are not confirmed either.
    func acknowledgements(
        _ acknowledgements: ReplicaAcknowledgements,
        closed fault: RedisFault,
        since round: ReplicaAcknowledgements.Round
    )
}
