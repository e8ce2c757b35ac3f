import RESP
import Redis

/// The nodes of a cluster, as Redis knows them.
package struct NodeListing: Sendable {
    /// A node.
    package struct Node: Sendable, Hashable {
        /// The state of a node.
        package enum State: String, Sendable {
            /// It serves clients.
            case serving
            /// It is stopping, and sends its clients to other nodes.
            case draining
            /// Redis has not received its heartbeat for some seconds; if it is alive, its clients are about to be
            /// closed.
            case isolated
            /// It has not renewed its lease, and other nodes have removed its data.
            case lost
        }

        /// The name in Redis, different after each start.
        package var id: String
        /// Its report about itself; `nil` if it has not sent one yet.
        package var report: NodeReport?
        /// The time since the oldest of its last heartbeats, one in each partition, in milliseconds.
        package var heartbeatAge: Int64
        /// The number of servers that have received all heartbeats in time.
        package var storeCount: Int
        package var state: State

        /// The display name.
        package var name: String { report?.name ?? id }
    }

    /// The nodes, by name.
    package var nodes: [Node]
    /// The number of servers.
    package var storeCount: Int
    /// The reasons why servers could not be queried; their data is missing.
    package var failures: [ClusterInspector.Failure] = []

    /// The apps that most nodes have; `nil` without nodes.
    package var commonApps: String? {
        var counts: [String: Int] = [:]
        for node in nodes where node.state != .lost {
            if let apps = node.report?.apps { counts[apps, default: 0] += 1 }
        }
        return counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
    }

    /// Whether a node is isolated or has other apps than most, or a server cannot be queried.
    package var hasFaults: Bool {
        !failures.isEmpty || nodes.contains { $0.state == .isolated || hasOtherApps($0) }
    }

    /// Whether a live node has other apps than most.
    package func hasOtherApps(_ node: Node) -> Bool {
        guard node.state != .lost, let apps = node.report?.apps else { return false }
        return apps != commonApps
    }

    /// The time since the last heartbeat after which a node is isolated, in milliseconds.
    static var isolationAge: Int64 { 5_000 }
}

extension ClusterInspector {
    /// The heartbeats in the partitions of one server.
    private struct Heartbeats {
        /// The time since the oldest of each node's heartbeats, in milliseconds.
        var ages: [String: Int64] = [:]
        /// The server's time, in milliseconds since 1970.
        var time: Int64 = 0
        /// All nodes that have had a number recently.
        var numbered: Set<String> = []
    }

    /// Lists the nodes.
    ///
    /// - Throws: The reason why the first server, which has the nodes' reports, cannot be queried.
    package func nodes() async throws(Failure) -> NodeListing {
        let servers = try await servers()
        guard let firstServer = servers.all.first(where: { $0.partitions.contains(0) }) else {
            throw servers.fault
                ?? Failure(server: "Redis", reason: "the first partition is nowhere")
        }
        let first = try await heartbeats(in: firstServer)
        var stores = [first]
        var failures = [servers.fault].compactMap(\.self)
        for server in servers.all where !server.partitions.contains(0) {
            do throws(Failure) {
                stores.append(try await heartbeats(in: server))
            } catch {
                failures.append(error)
            }
        }
        let ids = stores.reduce(into: first.numbered) { $0.formUnion($1.ages.keys) }.sorted()
        let reports = try await ask(
            firstServer,
            ids.map { ["HGETALL", "\(keys[0].report(of: $0))"] }
        )
        let nodes = zip(ids, reports.replies)
            .compactMap { id, reply in
                node(id, NodeReport(reply.fields), stores, at: first.time)
            }
        return NodeListing(
            nodes: nodes.sorted { ($0.name, $0.id) < ($1.name, $1.id) },
            storeCount: servers.all.count,
            failures: failures
        )
    }

    /// Returns what is known of a node; `nil` if only its number is known.
    private func node(
        _ id: String,
        _ report: NodeReport?,
        _ stores: [Heartbeats],
        at time: Int64
    ) -> NodeListing.Node? {
        let ages = stores.compactMap { $0.ages[id] }
        let storeCount = stores.count {
            $0.ages[id].map { $0 < NodeListing.isolationAge } ?? false
        }
        guard let age = ages.max() ?? report.map({ time - $0.time }) else { return nil }
        let state: NodeListing.Node.State =
            if ages.isEmpty {
                .lost
            } else if age >= NodeListing.isolationAge || report?.state == .isolated {
                .isolated
            } else if report?.state == .draining {
                .draining
            } else {
                .serving
            }
        return NodeListing.Node(
            id: id,
            report: report,
            heartbeatAge: max(age, 0),
            storeCount: storeCount,
            state: state
        )
    }

    private func heartbeats(in server: ClusterServer) async throws(Failure) -> Heartbeats {
        let numbers = server.partitions.contains(0) ? [["HGETALL", "\(keys[0].nodeNumbers)"]] : []
        let exchange = try await ask(
            server,
            [["TIME"]]
                + server.partitions.map {
                    ["ZRANGE", "\(keys[$0].nodes)", "0", "-1", "WITHSCORES"]
                } + numbers
        )
        if let error = exchange.replies.first(where: \.isError) {
            // A slot of a Redis Cluster that is about to move.
            throw Failure(server: server.name, reason: error.text)
        }
        var heartbeats = Heartbeats()
        heartbeats.time = Self.milliseconds(exchange.replies[0]) ?? exchange.endedAt
        let (sets, last) = (server.partitions.count, exchange.replies.last)
        if !numbers.isEmpty { heartbeats.numbered = Set(last?.fields.values.map(\.self) ?? []) }
        for reply in exchange.replies.dropFirst().prefix(sets) {
            for entry in reply.elements where entry.elements.count == 2 {
                let node = entry.elements[0].text
                guard let score = Double(entry.elements[1].text) else { continue }
                let age = heartbeats.time - Int64(score)
                heartbeats.ages[node] = max(heartbeats.ages[node] ?? 0, age)
            }
        }
        return heartbeats
    }
}
