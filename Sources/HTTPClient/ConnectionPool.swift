#if os(Linux)
    import HTTP1
    import Net

    /// The connections to one server; confined to the loop's thread.
    final class ConnectionPool: TimerTarget {
        let address: HTTPAddress
        private let core: ClientLoop.Core
        /// The tunnel request, if there is a proxy.
        private let tunnel: ProxyTunnel?
        /// All connections: busy, idle, connecting or closing.
        private var connections: [PooledConnection] = []
        /// The idle connections, the most recently used last.
        private var idle: [PooledConnection] = []
        /// The exchanges that wait for a connection, in order.
        private var waiting: [Exchange] = []
        private var deadlines: [UInt64: TimerID] = [:]

        var reactor: Reactor { core.reactor }
        var settings: ConnectionSettings { core.settings }

        init(to origin: HTTPOrigin, of core: ClientLoop.Core) {
            address = origin.address
            tunnel = origin.tunnel
            self.core = core
        }

        func begin(_ exchange: Exchange) {
            deadlines[exchange.id] = reactor.schedule(
                after: exchange.timeLeft,
                self,
                tag: Int(truncatingIfNeeded: exchange.id)
            )
            assign(exchange)
        }

        func cancel(_ id: UInt64) {
            guard let exchange = remove(id) else { return }
            exchange.finish(.failure(.cancelled(mayHaveArrived: exchange.wasSent)))
            dropIfUnused()
        }

        /// Cancels all requests, because the client is closed.
        func cancelAll() {
            for id in deadlines.keys { cancel(id) }
        }

        func timerFired(tag: Int) {
            guard let exchange = remove(UInt64(truncatingIfNeeded: tag)) else { return }
            exchange.finish(
                .failure(.timedOut(after: exchange.timeout, mayHaveArrived: exchange.wasSent))
            )
            dropIfUnused()
        }

        /// Counts a read of a connection.
        func countRead() { core.reads.increment() }

        /// Called when a head has arrived whose content has its own time limit.
        func answered(_ id: UInt64) { clearDeadline(of: id) }

        /// Called when an exchange has ended on its connection, which may be reused for `idleTime`; `nil` to close it.
        func finished(_ id: UInt64, _ connection: PooledConnection, idleTime: Duration?) {
            clearDeadline(of: id)
            guard let idleTime, let stream = connection.stream, stream.isOpen, !isOld(connection)
            else {
                connection.stream?.close(within: .seconds(1))
                return
            }
            if waiting.isEmpty {
                idle.append(connection)
                connection.rest(for: idleTime)
            } else {
                connection.carry(waiting.removeFirst())
            }
        }

        /// Called when a connection has ended, possibly with an unanswered exchange.
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
            while !waiting.isEmpty, connections.count < settings.connectionCountMax {
                assign(waiting.removeFirst())
            }
            dropIfUnused()
        }

        /// Repeats a request if that is safe; otherwise fails it.
        private func retry(_ exchange: Exchange, isStale: Bool, reason: String) {
            var exchange = exchange
            if isStale, exchange.isRepeatable, !exchange.wasRepeated {
                // The server has probably closed the connection while it was idle. It may still have read the request,
                // so only a repeatable one is sent again.
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
                guard let stream = connection.stream, stream.isOpen else { continue }
                guard !isOld(connection) else {
                    stream.close(within: .seconds(1))
                    continue
                }
                return connection.carry(exchange)
            }
            guard connections.count < settings.connectionCountMax else {
                return waiting.append(exchange)
            }
            connect(for: exchange)
        }

        private func isOld(_ connection: PooledConnection) -> Bool {
            connection.openedAt.duration(to: reactor.now) > settings.lifetime
        }

        private func connect(for exchange: Exchange) {
            let tls = address.isSecure ? core.tls : nil
            let encryption: PooledConnection.Encryption? = tls.map { ($0, address.host) }
            let connection = PooledConnection(pool: self, tunnel: tunnel, encryption)
            do throws(SystemError) {
                // An address that does not answer must leave time for the next one.
                let stream = try reactor.connect(
                    to: exchange.addresses[0],
                    // The connection to a proxy begins without TLS.
                    tls: tunnel == nil ? encryption : nil,
                    timeout: exchange.timeLeft / exchange.addresses.count,
                    delegate: connection
                )
                connection.attach(stream)
                connection.carry(exchange)
                connections.append(connection)
            } catch {
                clearDeadline(of: exchange.id)
                exchange.finish(.failure(.unreachable("\(address.url): \(error)")))
                dropIfUnused()
            }
        }

        /// Removes an exchange in any state, and closes its connection.
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

        private func dropIfUnused() {
            if connections.isEmpty, waiting.isEmpty { core.drop(self) }
        }
    }
#endif
