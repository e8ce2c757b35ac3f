// Replicas: they execute the primary's log, as far and as late as the owner has it.
extension ModelServer {
    /// What a command or a script has changed, and when it was executed.
    package struct Write: Sendable {
        let time: Int64
        /// The commands that change it, of which a replica executes all or none.
        let effects: [[ByteString]]
    }

    /// The number of writes that were executed.
    package var writeCount: Int { log.end }

    /// The writes from a number on, which the owner passes to a replica.
    package func writes(from offset: Int) -> ArraySlice<Write> { log.writes(from: offset) }

    /// Forgets the writes that no replica needs any more.
    package mutating func forgetWrites(before offset: Int) { log.removeWrites(before: offset) }

    /// Executes a write of the primary; only on a replica, whose messages nobody gets.
    package mutating func replicate(_ write: Write) {
        precondition(!identity.isPrimary, "a primary has writes of its own")
        data.advance(to: write.time)
        for effect in write.effects {
            _ = DataCommand.all["\(effect[0])"]?.body(&data, Array(effect.dropFirst()))
        }
        log.append(write)
    }

    /// Makes a replica with the data of now.
    ///
    /// - Parameter run: Its process.
    /// - Returns: The replica, which ``replicate(_:)`` brings up to date.
    package func makeReplica(run: String) -> ModelServer {
        var identity = identity
        (identity.run, identity.startedAt, identity.isPrimary) = (run, time, false)
        var replica = ModelServer(identity: identity, time: time)
        (replica.data, replica.loaded) = (data, loaded)
        replica.configuration = configuration
        replica.log = ReplicationLog(start: log.end)
        return replica
    }

    /// Makes the server a replica with the data of a primary, as a full synchronization does; its own is given up.
    ///
    /// - Parameter primary: The primary, whose writes follow by ``replicate(_:)``.
    package mutating func follow(_ primary: ModelServer) {
        data = primary.data
        (identity.replication, identity.formerReplication) = (primary.identity.replication, nil)
        identity.isPrimary = false
        log = ReplicationLog(start: primary.log.end)
    }

    /// Records what a replica has; nil after it was lost.
    ///
    /// - Returns: The replies to calls of `WAIT` that it completes.
    package mutating func acknowledge(_ offset: Int?, by replica: String) -> [Output] {
        log.acknowledged[replica] = offset
        continueWaiting()
        defer { outputs = [] }
        return outputs
    }

    // MARK: WAIT

    /// Appends what was executed to the log.
    mutating func append(_ effects: [[ByteString]]) {
        log.append(Write(time: time, effects: effects))
    }

    /// Waits until replicas have all writes before the connection's last command.
    mutating func wait(_ arguments: [ByteString], of connection: Connection) -> RESPValue? {
        guard arguments.count == 2, let count = arguments[0].integer,
            let timeout = arguments[1].integer
        else { return .wrongNumber(of: "WAIT") }
        guard identity.isPrimary else {
            return .error("ERR WAIT cannot be used with replica instances.")
        }
        let wait = ReplicaWait(
            offset: connections[connection]?.writeOffset ?? 0,
            replicaCount: Int(count),
            deadline: timeout == 0 ? .max : time + timeout
        )
        connections[connection]?.wait = wait
        continueWaiting()
        return nil
    }

    /// Answers the calls of `WAIT` that are complete, or have waited long enough; then the commands behind them.
    mutating func continueWaiting() {
        for connection in connections.keys.sorted() {
            while let wait = connections[connection]?.wait {
                let count = log.acknowledged.values.count { $0 >= wait.offset }
                guard count >= wait.replicaCount || time >= wait.deadline else { break }
                connections[connection]?.wait = nil
                send(.integer(count), to: connection)
                continueQueue(of: connection)
            }
        }
    }

    private mutating func continueQueue(of connection: Connection) {
        while connections[connection]?.wait == nil,
            let command = connections[connection]?.queue.first
        {
            connections[connection]?.queue.removeFirst()
            perform(command, of: connection)
        }
    }
}

/// A call of `WAIT`.
struct ReplicaWait: Sendable {
    let offset: Int
    let replicaCount: Int
    /// In milliseconds since 1970.
    let deadline: Int64
}

/// The writes of a primary.
struct ReplicationLog: Sendable {
    private var kept: [ModelServer.Write] = []
    private var start: Int
    /// What each replica has.
    var acknowledged: [String: Int] = [:]

    init(start: Int = 0) { self.start = start }

    /// The number of all writes.
    var end: Int { start + kept.count }

    mutating func append(_ write: ModelServer.Write) { kept.append(write) }

    func writes(from offset: Int) -> ArraySlice<ModelServer.Write> {
        precondition(offset >= start, "writes before \(start) are forgotten")
        return kept[min(offset - start, kept.count)...]
    }

    mutating func removeWrites(before offset: Int) {
        let count = min(max(offset - start, 0), kept.count)
        kept.removeFirst(count)
        start += count
    }
}
