import Net
import Redis
import Shard
import Synchronization

extension ClusterStore {
    /// Connects to the server; its answer follows later.
    func dial(_ url: RedisURL) -> RedisConnection {
        let connectionSettings = delegate.connectionSettings(of: self)
        guard let dialer = environment.dialer else {
            return RedisConnection.connect(
                to: url,
                tls: settings.tls,
                settings: connectionSettings,
                on: context.reactor,
                delegate: self
            )
        }
        return dialed(.primary(url.location), by: dialer) { descriptor throws(SystemError) in
            try .adopt(
                descriptor,
                settings: connectionSettings,
                on: context.reactor,
                delegate: self
            )
        }
    }

    /// Connects to the server that has executed messages, to request the confirmations of its replicas.
    func dial(
        _ url: RedisURL,
        _ acknowledgementSettings: ReplicaAcknowledgements.Settings,
        of server: RedisServer,
        for delegate: any ReplicaAcknowledgementsDelegate
    ) -> ReplicaAcknowledgements {
        guard let dialer = environment.dialer else {
            return ReplicaAcknowledgements.connect(
                to: url,
                tls: settings.tls,
                settings: acknowledgementSettings,
                of: server,
                on: context.reactor,
                delegate: delegate
            )
        }
        return dialed(.confirmations(url.location), by: dialer) { descriptor throws(SystemError) in
            try .adopt(
                descriptor,
                settings: acknowledgementSettings,
                of: server,
                on: context.reactor,
                delegate: delegate
            )
        }
    }

    /// Follows the primary that the Sentinels name.
    func follow(_ sentinels: SentinelWatch.Settings) -> SentinelWatch {
        guard let dialer = environment.dialer else {
            return SentinelWatch(
                sentinels,
                tls: settings.tls,
                on: context.reactor,
                delegate: self
            )
        }
        return SentinelWatch(sentinels, on: context.reactor, delegate: self) { [self] index, peer in
            dialed(.sentinel(index), by: dialer) { descriptor throws(SystemError) in
                try .adopt(
                    descriptor,
                    settings: sentinels.connection,
                    on: context.reactor,
                    delegate: peer
                )
            }
        }
    }

    /// Connects in a simulation.
    private func dialed<Connection>(
        _ server: DialedServer,
        by dialer: any RedisDialer,
        _ adopt: (consuming FileDescriptor) throws(SystemError) -> Connection
    ) -> Connection {
        do throws(SystemError) {
            return try adopt(dialer.dial(server, shard: context.shard))
        } catch {
            preconditionFailure("a simulation lacks descriptors: \(error)")
        }
    }

    /// The pause before the next attempt to connect.
    func reconnectPause() -> Duration { backoff.pause(random: random()) }

    /// A random number for pauses.
    func random() -> UInt64 { environment.dialer?.random() ?? .random(in: .min ... .max) }
}

extension ClusterSettings {
    /// The number of a node that is registered in all partitions; `nil` before.
    package func numberIfReady(shardCount: Int) -> UInt64? {
        guard status.readyCount.load(ordering: .acquiring) == shardCount else { return nil }
        return UInt64(status.number.load(ordering: .relaxed))
    }

    /// The first number of a node's socket IDs.
    package static func socketIDBase(ofNode number: UInt64) -> UInt64 { number * socketIDCount }
}
