import Archive
import BrokerConfiguration
import Cluster
import Console
import Gateway
import Logging
public import Net
import Observability
import Synchronization
public import Webhooks

extension BrokerServer {
    /// Starts the loops and listens.
    ///
    /// A broker that cannot start is stopped when this returns. The allocator of the process is set to merge freed blocks at
    /// once (``MemoryTrim/mergeFreedBlocksAtOnce()``).
    ///
    /// - Parameter inherited: Sockets that a service manager keeps open across restarts. Each must be for one of the
    ///   addresses on which the broker serves clients.
    /// - Returns: The addresses, with the ports that the kernel chose for port 0.
    /// - Throws: ``StartError``, with the address that could not be listened on.
    public func start(
        inherited: InheritedSockets = .none
    ) async throws(StartError) -> Addresses {
        MemoryTrim.mergeFreedBlocksAtOnce()
        do throws(StartError) {
            do throws(SystemError) {
                for shard in shards { try shard.loop.start(shard) }
            } catch {
                throw .system(error)
            }
            // Before clients can ask for what an earlier run has kept.
            do { try await restore() } catch { throw .archive("\(error)") }
            try await joinCluster()
            // Before clients can connect and cause webhooks.
            do { try await webhookService.start() } catch { throw .webhooks(error) }
            return try await listen(inherited)
        } catch {
            await stop(within: .zero)
            throw error
        }
    }

    /// The longest wait for Redis.
    private static var clusterTime: Duration { .seconds(10) }

    /// Registers the node in the cluster, and claims its number.
    private func joinCluster() async throws(StartError) {
        guard let cluster else { return }
        try await assessServers()
        for shard in shards { await shard.joinCluster() }
        let end = ContinuousClock.now + Self.clusterTime
        while cluster.status.readyCount.load(ordering: .acquiring) < shards.count {
            guard ContinuousClock.now < end else {
                let servers = cluster.stores.map { "\($0.url)" }.joined(separator: ", ")
                throw .cluster(cluster.status.lastFault ?? "\(servers): no answer")
            }
            try? await Task.sleep(for: .milliseconds(5))
        }
        let number = UInt64(cluster.status.number.load(ordering: .relaxed))
        for shard in shards {
            await shard.use(socketIDBase: number * ClusterSettings.socketIDCount)
        }
        log.debug("node registered", metadata: ["node": "\(cluster.node)", "number": "\(number)"])
    }

    /// Refuses servers that would lose messages, and logs what is unsafe about others.
    private func assessServers() async throws(StartError) {
        let inspector: ClusterInspector
        do { inspector = try ClusterInspector(configuration.cluster) } catch {
            throw .cluster("\(error)")
        }
        let servers: ClusterServers
        do { servers = try await inspector.servers() } catch { throw .cluster("\(error)") }
        if let fault = servers.fault { throw .cluster("\(fault)") }
        for server in servers.all {
            // Who joins finds out, and waits for a server that is about to start.
            guard let assessment = try? await inspector.assess(server, claims: true) else {
                continue
            }
            if let fault = assessment.faults.first { throw .cluster("\(server.name): \(fault)") }
            for warning in assessment.warnings {
                log.warning("Redis: \(warning)", metadata: ["server": "\(server.name)"])
            }
        }
    }

    private func listen(_ inherited: InheritedSockets) async throws(StartError) -> Addresses {
        var addresses = Addresses()
        if let port = configuration.port {
            addresses.plainAll = try await listen(port: port, inherited, tls: nil)
        }
        if let port = configuration.tlsPort, let tls = certificates.withLock({ $0?.context }) {
            addresses.tlsAll = try await listen(port: port, inherited, tls: tls)
        }
        if let path = configuration.unixSocket {
            // A path has one listener: SO_REUSEPORT does not spread Unix-domain connections.
            addresses.unix = try await listen(
                on: .unix(path: path),
                inherited,
                tls: nil,
                shards: shards.prefix(1)
            )
        }
        let served = addresses.plainAll + addresses.tlsAll + [addresses.unix].compactMap(\.self)
        if let unserved = inherited.addresses.first(where: { !served.contains($0) }) {
            throw .unservedSocket(unserved)
        }
        if let port = configuration.metrics.port {
            addresses.metricsAll = try await listen(at: configuration.metrics.hosts, port) {
                (address) throws(StartError) in try listenForMetrics(on: address)
            }
        }
        if let console, let port = configuration.console.port {
            addresses.consoleAll = try await listen(at: configuration.console.hosts, port) {
                (address) async throws(StartError) in try await listen(for: console, on: address)
            }
        }
        traces.start { [shards] in
            for shard in shards { await shard.updateObservers() }
        }
        await console?.start(
            in: BrokerConsole.Place(
                shards: shards,
                pages: addresses.consoleAll,
                plain: addresses.plainAll,
                tls: addresses.tls,
                webhooks: webhookService,
                archive: archive
            )
        )
        return addresses
    }

    /// Listens on a port of each host; for port 0, the one that the kernel chose for the first.
    ///
    /// - Returns: The addresses, in the order of the hosts.
    private func listen(
        at hosts: [String],
        _ port: UInt16,
        _ open: (SocketAddress) async throws(StartError) -> SocketAddress
    ) async throws(StartError) -> [SocketAddress] {
        var addresses: [SocketAddress] = []
        for host in hosts {
            let port = port == 0 ? addresses.first?.port ?? 0 : port
            guard let address = SocketAddress(ip: host, port: port) else {
                throw .noAddress(host: host)
            }
            addresses.append(try await open(address))
        }
        return addresses
    }

    /// Listens for the console with the broker's certificates, except on loopback, whose names no certificate has.
    private func listen(
        for console: BrokerConsole,
        on address: SocketAddress
    ) async throws(StartError) -> SocketAddress {
        let isLocal = address.isLoopback
        let tls = isLocal ? nil : certificates.withLock { $0?.context }
        if !isLocal, tls == nil {
            log.warning(
                """
                the console's password crosses the network in clear text: set console.host to \
                127.0.0.1 behind a proxy or a tunnel, or set tls.certificates
                """
            )
        }
        do throws(SystemError) {
            return try await shards[0].listenForConsole(on: address, tls: tls) { [site, traces] in
                $0.makeConsoleSite(site, console, traces)
            }
        } catch {
            throw .listen(address, error)
        }
    }

    private func listenForMetrics(on address: SocketAddress) throws(StartError) -> SocketAddress {
        do throws(SystemError) {
            return try metricsServer.open(on: address) { await self.metrics }
        } catch {
            throw .listen(address, error)
        }
    }

    private func listen(
        port: UInt16,
        _ inherited: InheritedSockets,
        tls: TLSContext?
    ) async throws(StartError) -> [SocketAddress] {
        try await listen(at: configuration.hosts, port) { (address) async throws(StartError) in
            try await listen(on: address, inherited, tls: tls, shards: shards[...])
        }
    }

    private func listen(
        on address: SocketAddress,
        _ inherited: InheritedSockets,
        tls: TLSContext?,
        shards: ArraySlice<Shard>
    ) async throws(StartError) -> SocketAddress {
        var address = address
        do throws(SystemError) {
            // With SO_REUSEPORT another broker of this user could share the port: clients and events would be split
            // between the two. A listener without it finds out.
            let isOwn = !inherited.contains(address)
            if isOwn, let first = shards.first, shards.count > 1, address.port != 0 {
                try await first.checkIsFree(address)
            }
            for shard in shards {
                // The kernel chooses the port of the first listener; the others share it.
                address = try await shard.listen(
                    on: address,
                    sharing: shards.count > 1,
                    inherited: inherited,
                    tls: tls
                )
            }
        } catch {
            throw .listen(address, error)
        }
        log.debug("listening", metadata: ["address": "\(address)", "tls": "\(tls != nil)"])
        return address
    }
}

/// Why a broker could not start.
public enum StartError: Error, CustomStringConvertible {
    /// A certificate or key cannot be used.
    case certificate(TLSError)
    /// A system call that every broker needs has failed.
    case system(SystemError)
    /// The host to listen on has no address.
    case noAddress(host: String)
    /// Listening on the address has failed.
    case listen(SocketAddress, SystemError)
    /// A service manager has passed a socket with an address on which the broker does not serve clients.
    case unservedSocket(SocketAddress)
    /// Webhooks cannot be sent.
    case webhooks(WebhooksError)
    /// The archive cannot be opened.
    case archive(String)
    /// The node cannot join its cluster.
    case cluster(String)

    /// The error in one line, with a remedy.
    public var description: String {
        switch self {
        case .certificate(let error):
            "The certificate cannot be used: \(error)"
        case .system(let error):
            "The broker cannot start: a system call failed: \(error)"
        case .noAddress(let host):
            "Host \"\(host)\" has no address to listen on"
        case .listen(let address, let error):
            "Cannot listen on \(address): \(error). "
                + "Is another broker running there? Choose another port with --port"
        case .unservedSocket(let address):
            "A socket was passed that listens on \(address), where the broker serves no clients: "
                + "give listen.host with listen.port, and ListenStream= of the socket's unit, the same address"
        case .archive(let reason):
            "The archive (recovery.database) cannot be opened: \(reason)"
        case .cluster(let reason):
            "The node cannot join its cluster (cluster.redis): \(reason)"
        case .webhooks(let error):
            "Webhooks cannot be sent: \(error)"
        }
    }
}
