public import Net
public import RESP

/// Tracks which server of a Redis Cluster has which slots.
///
/// It queries one server after another, until one answers that considers the cluster healthy, and then continues with
/// that one. A server that is cut off from most others knows that. A view that is older than the known one is ignored
/// (`CLUSTER INFO`: `cluster_state`, `cluster_current_epoch`). Confined to its reactor's thread.
///
/// The owner reports changes that it notices earlier: ``follow(_:)`` for a `MOVED`, and ``refresh()`` for a push
/// `sunsubscribe` without a call. By such a push a server ends the subscriptions of a slot that has moved.
public final class RedisClusterWatch {
    /// The servers to query, and the intervals.
    public struct Settings: Sendable {
        /// Some servers of the cluster; the others have the same credentials and encryption as the first.
        public var seeds: [RedisURL]
        /// The settings of the connections.
        public var connection: RedisSettings
        /// The time between two queries.
        public var interval: Duration
        /// The time between two queries while the map may be out of date.
        public var retryInterval: Duration

        /// Makes settings; the connections require no primary and load no scripts.
        public init(
            seeds: [RedisURL],
            connection: RedisSettings = .init(),
            interval: Duration = .seconds(10),
            retryInterval: Duration = .milliseconds(250)
        ) {
            precondition(!seeds.isEmpty, "no servers")
            self.seeds = seeds
            self.connection = connection
            self.connection.requiresPrimary = false
            self.connection.scripts = []
            self.interval = interval
            self.retryInterval = retryInterval
        }
    }

    /// The newest map; nil before the first.
    public private(set) var map: SlotMap?
    /// The reason why the last queried server could not be used, with its address; nil if it could.
    public private(set) var fault: String?

    private let settings: Settings
    private let tls: TLSContext?
    private let reactor: Reactor
    private weak var delegate: (any RedisClusterWatchDelegate)?
    private var connection: (link: RedisConnection, url: RedisURL)?
    /// The calls of `CLUSTER INFO` and `CLUSTER SHARDS` that are not answered.
    private var question: (info: CallID, shards: CallID)?
    /// The epoch in the reply to `CLUSTER INFO`; nil if the server's view is not used.
    private var answeredEpoch: Int?
    /// The epoch of the map.
    private var epoch = 0
    /// The servers to query, the next one first.
    private var candidates: [RedisURL] = []
    /// Whether the map may be out of date.
    private var isOutdated = true
    private var timer: TimerID?

    /// Begins to track the map.
    ///
    /// - Parameters:
    ///   - settings: The servers to query, and the intervals.
    ///   - tls: The accepted certificates; necessary for secure addresses.
    ///   - reactor: The reactor of the loop. It retains the watch until ``stop()``.
    ///   - delegate: Not retained, and never called from inside this call.
    public init(
        _ settings: Settings,
        tls: TLSContext? = nil,
        on reactor: Reactor,
        delegate: any RedisClusterWatchDelegate
    ) {
        self.settings = settings
        self.tls = tls
        self.reactor = reactor
        self.delegate = delegate
        ask()
    }

    /// Closes the connection; the delegate is not called any more.
    public func stop() {
        delegate = nil
        if let timer = timer.take() { reactor.cancel(timer) }
        connection.take()?.link.close()
    }

    /// Queries soon, because the map may be out of date.
    public func refresh() {
        guard !isOutdated else { return }
        isOutdated = true
        schedule(after: settings.retryInterval)
    }

    /// Queries the server that a slot has moved to, according to a call's error, unless the map already has it there.
    public func follow(_ redirection: Redirection) {
        guard redirection.kind == .moved, map?[redirection.slot] != redirection.server,
            !isOutdated
        else { return }
        candidates.insert(url(of: redirection.server), at: 0)
        change()
    }

    // MARK: Questions

    private func url(of server: RedisURL.Location) -> RedisURL {
        var url = settings.seeds[0]
        url.location = server
        return url
    }

    private func schedule(after time: Duration) {
        if let timer = timer.take() { reactor.cancel(timer) }
        timer = reactor.schedule(after: time, self)
    }

    /// Queries the server, connecting first if necessary.
    private func ask() {
        schedule(after: isOutdated ? settings.retryInterval : settings.interval)
        guard let link = connection?.link else { return connect() }
        guard link.isOpen, question == nil else { return }
        guard let info = try? link.call("CLUSTER", "INFO"),
            let shards = try? link.call("CLUSTER", "SHARDS")
        else { return change() }
        question = (info, shards)
    }

    private func connect() {
        if candidates.isEmpty {
            candidates = settings.seeds
            for server in map?.servers ?? [] where !candidates.contains(url(of: server)) {
                candidates.append(url(of: server))
            }
        }
        let url = candidates.removeFirst()
        let link = RedisConnection.connect(
            to: url,
            tls: tls,
            settings: settings.connection,
            on: reactor,
            delegate: self
        )
        connection = (link, url)
    }

    /// Switches to the next server, which is queried soon.
    private func change() {
        connection.take()?.link.close()
        (question, answeredEpoch) = (nil, nil)
        isOutdated = true
        schedule(after: settings.retryInterval)
    }

    private func failed(_ reason: String) {
        fault = (connection.map { "\($0.url): " } ?? "") + reason
    }

    private func adopt(_ new: SlotMap, at newEpoch: Int) {
        // Another server may have a newer view.
        guard newEpoch >= epoch else { return change() }
        epoch = newEpoch
        (isOutdated, fault) = (false, nil)
        schedule(after: settings.interval)
        guard new != map else { return }
        map = new
        delegate?.redisCluster(self, has: new)
    }
}

extension RedisClusterWatch: RedisConnectionDelegate {
    /// Queries the server.
    public func opened(_ connection: RedisConnection, server: RedisServer) {
        guard connection === self.connection?.link else { return }
        guard server.mode != .cluster else { return ask() }
        failed("it is not in cluster mode (cluster-enabled no)")
        change()
    }

    /// Receives the answers.
    public func received(
        _ reply: borrowing RESPView,
        to call: CallID,
        on connection: RedisConnection
    ) {
        guard connection === self.connection?.link, let question,
            let url = self.connection?.url
        else { return }
        if call == question.info {
            let info = RedisClusterInfo(reply.text)
            answeredEpoch = info.isHealthy ? info.epoch : nil
            if let fault = info.fault { failed(fault) }
        } else if call == question.shards {
            self.question = nil
            guard let epoch = answeredEpoch.take(), let map = SlotMap(reply, of: url) else {
                return change()
            }
            adopt(map, at: epoch)
        }
    }

    /// Nothing is subscribed to.
    public func received(push: borrowing RESPView, on connection: RedisConnection) {}

    /// Switches to the next server.
    public func closed(
        _ connection: RedisConnection,
        _ fault: RedisFault,
        unanswered: Range<CallID>
    ) {
        guard connection === self.connection?.link else { return }
        failed("\(fault)")
        self.connection = nil
        change()
    }
}

extension RedisClusterWatch: TimerTarget {
    /// Queries again.
    public func timerFired(tag: Int) {
        timer = nil
        ask()
    }
}

/// The owner of a ``RedisClusterWatch``.
public protocol RedisClusterWatchDelegate: AnyObject {
    /// Called with the first map, and when slots have moved to other servers.
    func redisCluster(_ watch: RedisClusterWatch, has map: SlotMap)
}
