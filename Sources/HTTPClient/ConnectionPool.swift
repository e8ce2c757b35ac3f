#if os(Linux)
    import HTTP1
    import Net

    /// The connections to one server and the thread that they live on.
    actor ConnectionPool: LoopResident {
        /// What tasks ask of the pool.
        enum Message: Sendable {
            case begin(Exchange)
            case cancel(UInt64)
            case stop
        }

        nonisolated let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        nonisolated let inbox: Mailbox<Message>
        private let core: Core

        /// Prepares the thread.
        ///
        /// - Parameters:
        ///   - address: The server.
        ///   - tunnel: What a proxy is asked for, if there is one on the way.
        ///   - tls: The encryption, when the server's address asks for it.
        /// - Throws: Descriptors, threads or memory have run out.
        init(to address: HTTPAddress, by tunnel: ProxyTunnel?, tls: TLSContext?) throws(SystemError)
        {
            loop = try EventLoop(name: "http-client")
            inbox = Mailbox(wakes: loop)
            core = Core(
                reactor: try Reactor(loop: loop),
                address: address,
                tunnel: tunnel,
                tls: tls
            )
        }

        func turn() -> Bool {
            core.reactor.poll()
            var isStopping = false
            for message in inbox.drain() {
                switch message {
                case .begin(let exchange): core.begin(exchange)
                case .cancel(let id): core.cancel(id)
                case .stop: isStopping = true
                }
            }
            core.reactor.flush()
            if isStopping { core.reactor.shutDown() }
            return !isStopping
        }

        /// Who carries what: confined to the loop's thread, as everything that it refers to.
        final class Core: TimerTarget {
            let reactor: Reactor
            private let address: HTTPAddress
            /// The encryption, when the server's address asks for it.
            private let tls: TLSContext?
            /// What a proxy is asked for, if there is one on the way.
            private let tunnel: ProxyTunnel?
            /// Every connection, busy, idle or still being made.
            private var connections: [PooledConnection] = []
            /// Those that wait for a request, the one used last at the end.
            private var idle: [PooledConnection] = []
            /// Requests that wait for a connection, in order.
            private var waiting: [Exchange] = []
            private var deadlines: [UInt64: TimerID] = [:]

            init(
                reactor: Reactor,
                address: HTTPAddress,
                tunnel: ProxyTunnel?,
                tls: TLSContext?
            ) {
                self.reactor = reactor
                self.address = address
                self.tunnel = tunnel
                self.tls = tls
            }

            func begin(_ exchange: Exchange) {
                deadlines[exchange.id] = reactor.schedule(
                    after: exchange.timeout,
                    self,
                    tag: Int(truncatingIfNeeded: exchange.id)
                )
                assign(exchange)
            }

            func cancel(_ id: UInt64) {
                guard let exchange = remove(id) else { return }
                exchange.finish(.failure(.cancelled(mayHaveArrived: exchange.wasSent)))
            }

            func timerFired(tag: Int) {
                guard let exchange = remove(UInt64(truncatingIfNeeded: tag)) else { return }
                exchange.finish(
                    .failure(
                        .timedOut(after: exchange.timeout, mayHaveArrived: exchange.wasSent)
                    )
                )
            }

            /// The exchange has its answer, or will get none over this connection.
            func finished(_ id: UInt64, _ connection: PooledConnection, canBeKept: Bool) {
                clearDeadline(of: id)
                guard canBeKept, let stream = connection.stream, stream.isOpen else {
                    connection.stream?.close(within: .seconds(1))
                    return
                }
                if waiting.isEmpty {
                    idle.append(connection)
                    connection.rest(for: SocketHTTP.idleTimeout)
                } else {
                    connection.carry(waiting.removeFirst())
                }
            }

            /// A connection has ended, perhaps with a request that has no answer.
            func lost(
                _ connection: PooledConnection,
                _ exchange: Exchange?,
                isStale: Bool,
                reason: String
            ) {
                connections.removeAll { $0 === connection }
                idle.removeAll { $0 === connection }
                if let exchange {
                    retry(exchange, isStale: isStale, reason: reason)
                }
                while !waiting.isEmpty, connections.count < SocketHTTP.connectionCountMax {
                    assign(waiting.removeFirst())
                }
            }

            /// Sends a request anew where that is safe, and gives it up everywhere else.
            private func retry(_ exchange: Exchange, isStale: Bool, reason: String) {
                var exchange = exchange
                if isStale, exchange.isRepeatable, !exchange.wasRepeated {
                    // Closed, it seems, while it was idle. Whatever does something, such as triggering an
                    // event, may have been read before the connection broke, and must not be done twice.
                    exchange.wasRepeated = true
                    return connect(for: exchange)
                }
                if !exchange.wasSent, exchange.addresses.count > 1 {
                    exchange.addresses.removeFirst()
                    return connect(for: exchange)
                }
                clearDeadline(of: exchange.id)
                exchange.finish(
                    .failure(
                        exchange.wasSent
                            ? .connectionLost(reason)
                            : .unreachable("\(address.url): \(reason)")
                    )
                )
            }

            private func assign(_ exchange: Exchange) {
                while let connection = idle.popLast() {
                    guard connection.stream?.isOpen == true else { continue }
                    return connection.carry(exchange)
                }
                guard connections.count < SocketHTTP.connectionCountMax else {
                    return waiting.append(exchange)
                }
                connect(for: exchange)
            }

            private func connect(for exchange: Exchange) {
                let encryption: PooledConnection.Encryption? = tls.map { ($0, address.host) }
                let connection = PooledConnection(pool: self, tunnel: tunnel, encryption)
                do throws(SystemError) {
                    // An address that does not answer must leave time for the next one.
                    let stream = try reactor.connect(
                        to: exchange.addresses[0],
                        // By a proxy it begins in plain.
                        tls: tunnel == nil ? encryption : nil,
                        timeout: exchange.timeout / exchange.addresses.count,
                        delegate: connection
                    )
                    connection.attach(stream)
                    connection.carry(exchange)
                    connections.append(connection)
                } catch {
                    clearDeadline(of: exchange.id)
                    exchange.finish(.failure(.unreachable("\(address.url): \(error)")))
                }
            }

            /// Takes an exchange out, wherever it is, with the connection that carries it.
            private func remove(_ id: UInt64) -> Exchange? {
                clearDeadline(of: id)
                if let index = waiting.firstIndex(where: { $0.id == id }) {
                    return waiting.remove(at: index)
                }
                return connections.first { $0.exchange?.id == id }?.abandon()
            }

            private func clearDeadline(of id: UInt64) {
                if let timer = deadlines.removeValue(forKey: id) { reactor.cancel(timer) }
            }
        }
    }
#endif
