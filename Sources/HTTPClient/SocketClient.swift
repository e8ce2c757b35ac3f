#if os(Linux)
    import HTTP1
    package import Net
    import Synchronization

    /// An HTTP/1.1 client for any number of servers, over this package's sockets, on one thread.
    ///
    /// Each server has its own pool of persistent connections, configured by ``ConnectionSettings``. Each connection
    /// carries one request at a time. A server without an open connection takes no memory.
    package final class SocketClient: Sendable {
        /// The connection settings.
        package let settings: ConnectionSettings
        /// The proxy for all servers; `nil` for none.
        package let proxy: ProxyAddress?
        private let tls: TLSContext?
        private let resident: ClientLoop
        private let resolver: NameResolver
        private let lastID = Atomic<UInt64>(0)
        /// Whether the thread was asked to stop, so that later messages would never be processed.
        private let isClosed = Mutex(false)

        /// Starts the thread; connections are opened on demand.
        ///
        /// - Parameters:
        ///   - settings: The connection settings.
        ///   - tls: The TLS context for `https` servers; `nil` if there are none.
        ///   - route: The route to the servers; `.system` is without a proxy.
        /// - Throws: Descriptors, threads or memory have run out.
        package convenience init(
            settings: ConnectionSettings = ConnectionSettings(),
            tls: TLSContext?,
            route: HTTPRoute = .system
        ) throws(SystemError) {
            try self.init(settings: settings, tls: tls, route: route, resolver: NameResolver())
        }

        /// Starts the thread, with a given name resolver.
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

        /// The number of reads of all connections.
        package var readCount: Int { resident.reads.count }

        /// Cancels all requests, closes all connections, and waits for the end of the thread; later requests fail.
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

        /// Sends a request and waits for the response.
        ///
        /// - Returns: The final response, whatever its status is.
        /// - Throws: The reason why there is no response, also when the task is cancelled.
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
                // The host may have another address now.
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
                    // A cancellation before this point found nothing to cancel.
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

        /// Posts a message to the loop, unless it was asked to stop.
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

        /// Resolves the host, or its proxy if there is one.
        private func resolve(
            _ name: NameResolver.Name,
            within timeout: Duration
        ) async throws(HTTPFailure) -> [SocketAddress] {
            do throws(HTTPFailure) {
                return try await resolver.addresses(of: name, within: timeout)
            } catch {
                guard let proxy, case .unreachable(let reason) = error else { throw error }
                throw .unreachable("the proxy \(proxy) cannot be reached: \(reason)")
            }
        }
    }
#endif
