#if os(Linux)
    import Net
    import Synchronization

    /// The thread of a client, and the connections to all its servers.
    actor ClientLoop: LoopResident {
        /// What tasks ask of it.
        enum Message: Sendable {
            case begin(Exchange)
            /// Ends the exchange with this number, with this server.
            case cancel(UInt64, HTTPAddress)
            case stop
        }

        /// Counts the reads of all connections, on the loop's thread.
        final class ReadCounter: Sendable {
            private let value = Atomic(0)

            var count: Int { value.load(ordering: .relaxed) }

            func increment() { value.wrappingAdd(1, ordering: .relaxed) }
        }

        nonisolated let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        nonisolated let inbox: Mailbox<Message>
        nonisolated let reads: ReadCounter
        private let core: Core

        /// Prepares the thread.
        ///
        /// - Parameters:
        ///   - settings: How connections are kept.
        ///   - tls: The encryption towards servers that ask for it.
        /// - Throws: Descriptors, threads or memory have run out.
        init(settings: ConnectionSettings, tls: TLSContext?) throws(SystemError) {
            loop = try EventLoop(name: "http-client")
            inbox = Mailbox(wakes: loop)
            reads = ReadCounter()
            core = Core(
                reactor: try Reactor(loop: loop),
                settings: settings,
                tls: tls,
                reads: reads
            )
        }

        func turn() -> Bool {
            core.reactor.poll()
            var isStopping = false
            for message in inbox.drain() {
                switch message {
                case .begin(let exchange): core.begin(exchange)
                case .cancel(let id, let address): core.pools[address]?.cancel(id)
                case .stop: isStopping = true
                }
            }
            if isStopping { core.endAll() }
            core.reactor.flush()
            if isStopping { core.reactor.shutDown() }
            return !isStopping
        }

        /// What the connections share: confined to the loop's thread, as everything that it refers to.
        final class Core {
            let reactor: Reactor
            let settings: ConnectionSettings
            /// The encryption towards servers that ask for it.
            let tls: TLSContext?
            let reads: ReadCounter
            /// The servers to which there is a connection or a request.
            fileprivate(set) var pools: [HTTPAddress: ConnectionPool] = [:]

            init(
                reactor: Reactor,
                settings: ConnectionSettings,
                tls: TLSContext?,
                reads: ReadCounter
            ) {
                self.reactor = reactor
                self.settings = settings
                self.tls = tls
                self.reads = reads
            }

            func begin(_ exchange: Exchange) {
                let address = exchange.origin.address
                let pool = pools[address] ?? ConnectionPool(to: exchange.origin, of: self)
                pools[address] = pool
                pool.begin(exchange)
            }

            /// Forgets a server to which there is neither a connection nor a request.
            func drop(_ pool: ConnectionPool) {
                if pools[pool.address] === pool { pools[pool.address] = nil }
            }

            /// Ends all requests; connections end with the reactor.
            func endAll() {
                for pool in pools.values { pool.cancelAll() }
            }
        }
    }
#endif
