#if os(Linux)
    import Net
    import Synchronization

    /// The thread of a client, with the connections to all servers.
    actor ClientLoop: LoopResident {
        /// A message from a task.
        enum Message: Sendable {
            case begin(Exchange)
            /// Cancels the exchange with this ID, with this server.
            case cancel(UInt64, HTTPAddress)
            case stop
        }

        /// The number of reads of all connections, incremented on the loop's thread.
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

        /// Creates the loop; `tls` is the context for `https` servers.
        ///
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

        /// The state shared by the connections; confined to the loop's thread, like everything it refers to.
        final class Core {
            let reactor: Reactor
            let settings: ConnectionSettings
            /// The TLS context for `https` servers.
            let tls: TLSContext?
            let reads: ReadCounter
            /// The servers with a connection or a request.
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

            /// Removes a server without connections and requests.
            func drop(_ pool: ConnectionPool) {
                if pools[pool.address] === pool { pools[pool.address] = nil }
            }

            /// Cancels all requests; the reactor closes the connections.
            func endAll() {
                for pool in pools.values { pool.cancelAll() }
            }
        }
    }
#endif
