#if os(Linux)
    import HTTP1
    package import Net
    import Synchronization

    /// HTTP/1.1 to any number of servers over the package's own sockets, from one thread.
    ///
    /// Each server has connections of its own, kept open between requests as ``ConnectionSettings`` say, each for one
    /// request at a time. A server to which no connection is open takes no memory.
    package final class SocketClient: Sendable {
        /// How connections are kept.
        package let settings: ConnectionSettings
        /// The proxy on the way to every server; `nil` for none.
        package let proxy: ProxyAddress?
        private let tls: TLSContext?
        private let resident: ClientLoop
        private let resolver: NameResolver
        private let lastID = Atomic<UInt64>(0)
        /// Whether the thread has been told to end: what is posted later would never be answered.
        private let isClosed = Mutex(false)

        /// Starts the thread; connections are made when they are needed.
        ///
        /// - Parameters:
        ///   - settings: How connections are kept.
        ///   - tls: The encryption towards `https` servers; `nil` when there are none.
        ///   - route: How to get to the servers; `.system` is without a proxy.
        /// - Throws: Descriptors, threads or memory have run out.
        package convenience init(
            settings: ConnectionSettings = ConnectionSettings(),
            tls: TLSContext?,
            route: HTTPRoute = .system
        ) throws(SystemError) {
            try self.init(settings: settings, tls: tls, route: route, resolver: NameResolver())
        }

        /// Starts the thread, with a given source of addresses.
        init(
            settings: ConnectionSettings = ConnectionSettings(),
            tls: TLSContext?,
            route: HTTPRoute = .system,
            resolver: NameResolver
        ) throws(SystemError) {
            self.settings = settings
            self.resolver = resolver
            self.tls = tls
            proxy = route.proxy
            resident = try ClientLoop(settings: settings, tls: tls)
            try resident.loop.start(resident)
        }

        deinit { end() }

        /// How often connections have been read so far.
        package var readCount: Int { resident.reads.count }

        /// Ends what is under way, closes all connections, and waits for the end of the thread; later requests fail.
        package func close() async {
            end()
            await resident.loop.waitUntilStopped()
        }

        private func end() {
            isClosed.withLock { isClosed in
                if !isClosed { resident.inbox.post(.stop) }
                isClosed = true
            }
        }

        /// Sends one request and waits for the answer.
        ///
        /// - Parameters:
        ///   - call: The request.
        ///   - origin: The server.
        /// - Returns: The final answer, whatever its status is.
        /// - Throws: Why there is no answer; also when the task is cancelled.
        package func send(
            _ call: HTTPCall,
            to origin: HTTPOrigin
        ) async throws(HTTPFailure) -> HTTPAnswer {
            guard !Task.isCancelled else { throw .cancelled(mayHaveArrived: false) }
            guard tls != nil || !origin.address.isSecure else {
                throw .unreachable("\(origin.address.url): this client was made without TLS")
            }
            let start = ContinuousClock.now
            let bytes = try encode(call, to: origin.address)
            let name = NameResolver.Name(
                host: proxy?.host ?? origin.address.host,
                port: proxy?.port ?? origin.address.port
            )
            let addresses = try await resolve(name, within: call.timeout)
            let timeLeft = call.timeout - start.duration(to: .now)
            do throws(HTTPFailure) {
                return try await exchange(call, origin, bytes, addresses, timeLeft)
            } catch {
                switch error {
                // The name may have moved.
                case .unreachable, .timedOut, .connectionLost: resolver.forget(name)
                default: break
                }
                throw error
            }
        }

        private func exchange(
            _ call: HTTPCall,
            _ origin: HTTPOrigin,
            _ bytes: [UInt8],
            _ addresses: [SocketAddress],
            _ timeLeft: Duration
        ) async throws(HTTPFailure) -> HTTPAnswer {
            let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
            let outcome = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let exchange = Exchange(
                        call,
                        id: id,
                        to: origin,
                        as: bytes,
                        at: addresses,
                        timeLeft: timeLeft,
                        continuation: continuation
                    )
                    guard post(.begin(exchange)) else {
                        return exchange.finish(.failure(.cancelled(mayHaveArrived: false)))
                    }
                    // A cancellation before this point has found nothing to cancel.
                    if Task.isCancelled { cancel(id, origin) }
                }
            } onCancel: {
                cancel(id, origin)
            }
            return try outcome.get()
        }

        private func cancel(_ id: UInt64, _ origin: HTTPOrigin) {
            _ = post(.cancel(id, origin.address))
        }

        /// Hands the loop a message, unless it has been told to end.
        private func post(_ message: ClientLoop.Message) -> Bool {
            isClosed.withLock { isClosed in
                if !isClosed { resident.inbox.post(message) }
                return !isClosed
            }
        }

        private func encode(
            _ call: HTTPCall,
            to address: HTTPAddress
        ) throws(HTTPFailure) -> [UInt8] {
            do throws(HTTPError) {
                return try Request(
                    Method(call.method),
                    address.pathPrefix + call.target,
                    host: address.hostField,
                    fields: call.fields.map { Field($0.name, $0.value) },
                    body: call.body
                ).encode()
            } catch {
                throw .invalidRequest("the request cannot be written: \(error)")
            }
        }

        /// Looks up the host, or the proxy on the way there.
        private func resolve(
            _ name: NameResolver.Name,
            within timeout: Duration
        ) async throws(HTTPFailure) -> [SocketAddress] {
            do throws(HTTPFailure) {
                return try await resolver.addresses(of: name, within: timeout)
            } catch {
                guard let proxy, case .unreachable(let reason) = error else { throw error }
                throw .unreachable("the proxy \(proxy) is not reached: \(reason)")
            }
        }
    }
#endif
