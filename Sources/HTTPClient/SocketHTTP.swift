#if os(Linux)
    import Dispatch
    import HTTP1
    import Net
    import Synchronization

    /// Requests over the package's own sockets, from a thread of its own.
    ///
    /// Connections are kept open between requests, at most ``connectionCountMax`` at a time, each for one request at a
    /// time; a request that finds all of them busy waits. They are closed when they were idle for
    /// ``idleTimeout``, which is shorter than most servers' patience, so that both hardly ever let go at once.
    package final class SocketHTTP: HTTPTransport {
        /// The most connections that are open at a time.
        package static let connectionCountMax = 16
        /// How long a connection is kept without a call.
        package static let idleTimeout: Duration = .seconds(20)

        private let address: HTTPAddress
        private let proxy: ProxyAddress?
        private let pool: ConnectionPool
        private let lastID = Atomic<UInt64>(0)
        private let lookedUp = Mutex<LookedUp?>(nil)
        /// How long the addresses of a host are taken for granted.
        private static let lookUpLifetime: Duration = .seconds(30)

        /// Starts the thread; connections are made when they are needed.
        ///
        /// - Parameters:
        ///   - address: The server.
        ///   - trust: Whose certificates are accepted.
        ///   - route: How to get to the server; `.system` is without a proxy.
        /// - Throws: `.unreachable` when there is no thread, no descriptor or no certificate to be had.
        package init(
            to address: HTTPAddress,
            trust: HTTPTrust = .system,
            route: HTTPRoute = .system
        ) throws(HTTPFailure) {
            self.address = address
            proxy = route.proxy
            do {
                let tls =
                    address.isSecure
                    ? try TLSContext.client(try Verification(reading: trust)) : nil
                let tunnel = try proxy.map { proxy throws(ProxyTunnel.Refusal) in
                    try ProxyTunnel(by: proxy, to: address.host, address.port)
                }
                pool = try ConnectionPool(to: address, by: tunnel, tls: tls)
                try pool.loop.start(pool)
            } catch let refusal as ProxyTunnel.Refusal {
                throw .unreachable(refusal.reason)
            } catch {
                throw .unreachable("\(error)")
            }
        }

        deinit { pool.inbox.post(.stop) }

        /// Sends one request and waits for the whole answer.
        package func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPAnswer {
            guard !Task.isCancelled else { throw .cancelled(mayHaveArrived: false) }
            let bytes = try encode(call)
            let addresses = try await resolve(within: call.timeout)
            let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
            let outcome = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let exchange = Exchange(
                        id: id,
                        method: Method(call.method),
                        isRepeatable: call.isRepeatable,
                        bytes: bytes,
                        addresses: addresses,
                        timeout: call.timeout,
                        answerLengthMax: call.answerLengthMax,
                        continuation: continuation
                    )
                    pool.inbox.post(.begin(exchange))
                    // A cancellation before this point has found nothing to cancel.
                    if Task.isCancelled { pool.inbox.post(.cancel(id)) }
                }
            } onCancel: {
                pool.inbox.post(.cancel(id))
            }
            return try outcome.get()
        }

        private func encode(_ call: HTTPCall) throws(HTTPFailure) -> [UInt8] {
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

        /// Looks up the host, or the proxy on the way there, on a thread that may block, unless that was done a moment ago.
        private func resolve(
            within timeout: Duration
        ) async throws(HTTPFailure) -> [SocketAddress] {
            let (host, port) = (proxy?.host ?? address.host, proxy?.port ?? address.port)
            if let address = SocketAddress(ip: host, port: port) { return [address] }
            let known = lookedUp.withLock { $0 }
            if let known, .now - known.at < SocketHTTP.lookUpLifetime {
                return known.addresses
            }
            let proxy = proxy
            let outcome: Result<[SocketAddress], HTTPFailure> =
                await withCheckedContinuation { continuation in
                    let first = FirstOutcome(continuation)
                    let queue = DispatchQueue.global()
                    queue.async {
                        do throws(ResolveError) {
                            let addresses = try SocketAddress.resolve(host: host, port: port)
                            first.resume(.success(addresses))
                        } catch {
                            let reason =
                                proxy.map { "the proxy \($0) is not reached: \(error)" }
                                ?? "\(error)"
                            first.resume(.failure(.unreachable(reason)))
                        }
                    }
                    // A name server that does not answer keeps its thread, but not the caller.
                    let milliseconds = Int(timeout.components.seconds) * 1000
                    queue.asyncAfter(deadline: .now() + .milliseconds(max(milliseconds, 1))) {
                        first.resume(
                            .failure(.unreachable("no answer to the look-up of \(host) in time"))
                        )
                    }
                }
            let addresses = try outcome.get()
            lookedUp.withLock { $0 = LookedUp(addresses: addresses, at: .now) }
            return addresses
        }
    }

    /// The addresses of the host, and when they were asked for.
    private struct LookedUp: Sendable {
        var addresses: [SocketAddress]
        var at: ContinuousClock.Instant
    }

    /// A continuation that several may try to resume: the first one does.
    private final class FirstOutcome: Sendable {
        typealias Outcome = Result<[SocketAddress], HTTPFailure>
        private let continuation: Mutex<CheckedContinuation<Outcome, Never>?>

        init(_ continuation: CheckedContinuation<Outcome, Never>) {
            self.continuation = Mutex(continuation)
        }

        func resume(_ outcome: Outcome) {
            let continuation = continuation.withLock { continuation in
                defer { continuation = nil }
                return continuation
            }
            continuation?.resume(returning: outcome)
        }
    }
#endif
