import Net
import Primitives
import Redis
import Shard

/// Messages that a store's primary has executed for this shard, until enough replicas have them too.
///
/// The messages whose replies arrived in one turn share a round of ``ReplicaAcknowledgements``. A publisher gets 200
/// when its round is confirmed. If it is not confirmed, it is unknown whether the message survives a failover.
final class ReplicaConfirmations {
    /// A message that the primary has executed.
    struct Executed {
        let message: OutgoingMessage
        let outcome: PublishOutcome
    }

    // The store owns this object.
    private unowned let store: ClusterStore
    private let replicaCount: Int
    private var acknowledgements: ReplicaAcknowledgements?
    /// The messages of this turn.
    private var executed: [Executed] = []
    /// The messages of the requested rounds, in order.
    private var rounds = Queue<(round: ReplicaAcknowledgements.Round, messages: [Executed])>()
    private var server: RedisServer?
    private var backoff = ReconnectBackoff()
    private var isTimerRunning = false
    /// The number of unanswered calls that record in the partitions that not all replicas confirm any more.
    private var announcementCount = 0
    /// The acknowledgement of publishes on the present connection: by all replicas, as long as no further replica was
    /// seen.
    private(set) var acknowledgement = Acknowledgement.replica

    /// The time for which a round waits for the replicas.
    private static var timeout: Duration { .seconds(1) }

    init(of store: ClusterStore, replicaCount: Int) {
        self.store = store
        self.replicaCount = replicaCount
    }

    /// The number of messages that are not confirmed.
    var count: Int { rounds.elements.reduce(executed.count) { $0 + $1.messages.count } }

    // MARK: - The connection

    /// Called when the store's connection is open.
    func begin(at server: RedisServer) {
        self.server = server
        acknowledgement = server.replicaCount <= replicaCount ? .all : .replica
        announcementCount = 0
        connect()
    }

    /// Connects, unless that is done or the store has no partitions yet.
    func connect() {
        guard let server, acknowledgements == nil, !isTimerRunning, let location = store.location,
            let partition = store.partitions.first
        else { return }
        var url = store.address.url
        url.location = location
        let settings = ReplicaAcknowledgements.Settings(
            connection: store.settings.connection,
            counter: store.delegate.counter(of: partition),
            replicaCount: replicaCount,
            timeout: Self.timeout
        )
        acknowledgements = store.dial(url, settings, of: server, for: self)
    }

    /// Called when the store's connection has ended; returns the messages that are not confirmed, in order.
    func end() -> [OutgoingMessage] {
        server = nil
        acknowledgements.take()?.close()
        let messages = rounds.elements.flatMap(\.messages) + executed
        (rounds, executed) = (Queue(), [])
        return messages.map(\.message)
    }

    // MARK: - Messages

    /// Adds a message that the primary has executed.
    func append(_ message: OutgoingMessage, _ outcome: PublishOutcome) {
        executed.append(Executed(message: message, outcome: outcome))
    }

    /// Requests the confirmation of a turn's messages, and returns whether there are any.
    func request() -> Bool {
        guard !executed.isEmpty, announcementCount == 0, let acknowledgements,
            let round = try? acknowledgements.request()
        else { return false }
        rounds.append((round, executed))
        executed = []
        return true
    }

    /// Removes and returns the messages of the rounds up to one, in their order.
    private func takeMessages(upTo round: ReplicaAcknowledgements.Round) -> [Executed] {
        var messages: [Executed] = []
        while let next = rounds.first, next.round <= round {
            messages += rounds.removeFirst().messages
        }
        return messages
    }

    /// Called when a partition has recorded how publishes are acknowledged.
    func announced() { announcementCount = max(0, announcementCount - 1) }
}

extension ReplicaConfirmations: ReplicaAcknowledgementsDelegate {
    func acknowledgements(
        _ acknowledgements: ReplicaAcknowledgements,
        confirm round: ReplicaAcknowledgements.Round
    ) {
        guard acknowledgements === self.acknowledgements else { return }
        backoff.reset()
        if acknowledgement == .all, acknowledgements.connectedReplicaCount > replicaCount {
            // One of them may lack a message that the others have confirmed. An epoch that it begins must not count as
            // clean, and the replicas need that record first.
            acknowledgement = .replica
            // Calls that were sent before are answered first.
            announcementCount = store.delegate.announceAcknowledgement(of: store)
            executed = takeMessages(upTo: round) + executed
            return
        }
        for executed in takeMessages(upTo: round) {
            store.delegate.finish(executed.message, executed.outcome)
        }
    }

    func acknowledgements(
        _ acknowledgements: ReplicaAcknowledgements,
        miss round: ReplicaAcknowledgements.Round,
        replicaCount: Int,
        refusal: RedisError?
    ) {
        guard acknowledgements === self.acknowledgements else { return }
        guard refusal?.isRedirection != true else {
            // The partition of the counter has moved; that of another partition is used next.
            executed = exchange(&rounds, with: Queue()).elements.flatMap(\.messages) + executed
            self.acknowledgements = nil
            acknowledgements.close()
            return connectLater()
        }
        let refusal = ClusterRefusal.unconfirmed(replicaCount, of: self.replicaCount)
        for executed in takeMessages(upTo: round) {
            store.delegate.refuse(executed.message, refusal)
        }
    }

    func acknowledgements(
        _ acknowledgements: ReplicaAcknowledgements,
        closed fault: RedisFault,
        since round: ReplicaAcknowledgements.Round
    ) {
        guard acknowledgements === self.acknowledgements else { return }
        self.acknowledgements = nil
        if case .anotherServer = fault {
            // The calls are executed by a server whose data is discarded.
            store.connection?.close()
            return
        }
        for executed in exchange(&rounds, with: Queue()).elements.flatMap(\.messages) {
            store.delegate.refuse(executed.message, .unanswered)
        }
        connectLater()
    }

    private func connectLater() {
        guard !isTimerRunning else { return }
        isTimerRunning = true
        let pause = backoff.pause(random: store.random())
        store.context.reactor.schedule(after: pause, self)
    }
}

extension ReplicaConfirmations: TimerTarget {
    func timerFired(tag: Int) {
        isTimerRunning = false
        guard !store.context.reactor.hasShutDown else { return }
        if store.partitions.isEmpty {
            // All have moved, and the replicas cannot be asked.
            for executed in exchange(&executed, with: []) {
                store.delegate.refuse(executed.message, .unanswered)
            }
        }
        connect()
    }
}
