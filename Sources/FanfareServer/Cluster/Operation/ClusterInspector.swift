package import Net
import RESP
import Redis

/// Asks the servers of a cluster from outside of a broker: for `fanfare nodes` and `fanfare check`, and before a start.
package struct ClusterInspector: Sendable {
    /// The keys of each partition.
    let keys: [PartitionKeys]
    let configuration: ClusterConfiguration
    private let stores: [StoreAddress]
    private let tls: TLSContext?
    private let settings: RedisSettings

    /// A server, or why it cannot be asked.
    package struct Failure: Error, CustomStringConvertible {
        /// The address of the server, without its password.
        package let server: String
        /// A clause for the operator.
        package let reason: String

        package var description: String { "\(server): \(reason)" }
    }

    /// Creates an inspector.
    ///
    /// - Parameter configuration: A valid configuration with an engine.
    /// - Throws: The reason why the file of certificates cannot be used.
    package init(_ configuration: ClusterConfiguration) throws(TLSError) {
        let redis = configuration.redis
        self.configuration = configuration
        keys = PartitionKeys.all(prefix: configuration.prefix, count: configuration.partitions)
        stores = redis.stores
        tls = try redis.tls()
        settings = RedisSettings(
            username: redis.username,
            password: redis.password,
            clientName: "fanfare",
            openTimeout: .seconds(3)
        )
    }

    /// The number of servers.
    package var storeCount: Int { stores.count }

    /// The partitions of a server.
    func partitions(of store: Int) -> StrideTo<Int> {
        stride(from: store, to: keys.count, by: storeCount)
    }

    /// The name of a server, without its password.
    package func name(of store: Int) -> String { "\(stores[store].url)" }

    /// Sends commands to a server, and waits for all replies.
    func ask(_ store: Int, _ commands: [[String]]) async throws(Failure) -> RedisExchange {
        let url = try await primary(of: store)
        return try await ask(url, settings, commands)
    }

    private func ask(
        _ url: RedisURL,
        _ settings: RedisSettings,
        _ commands: [[String]]
    ) async throws(Failure) -> RedisExchange {
        do {
            return try await RedisExchange.run(commands, at: url, tls: tls, settings)
        } catch {
            throw Failure(server: "\(url)", reason: "\(error)")
        }
    }

    /// The address of a primary, which more than half of the Sentinels name if there are any.
    private func primary(of store: Int) async throws(Failure) -> RedisURL {
        var url = stores[store].url
        guard let watch = stores[store].sentinels else { return url }
        let (name, sentinels) = (watch.name, watch.sentinels)
        var settings = settings
        settings.requiresPrimary = false
        var votes: [RedisURL.Location: Int] = [:]
        for sentinel in sentinels {
            let question = [["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]]
            guard let answer = try? await ask(sentinel, settings, question).replies.first,
                answer.elements.count == 2, let port = UInt16(answer.elements[1].text)
            else { continue }
            votes[.host(answer.elements[0].text, port: port), default: 0] += 1
        }
        guard let (location, count) = votes.max(by: { $0.value < $1.value }),
            count > sentinels.count / 2
        else {
            throw Failure(
                server: name,
                reason: "no majority of the \(sentinels.count) Sentinels names a primary"
            )
        }
        url.location = location
        return url
    }
}
