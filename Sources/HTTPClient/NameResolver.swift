#if os(Linux)
    import Dispatch
    import Net
    import Synchronization

    /// Resolves host names, with a short-lived cache.
    ///
    /// A look-up blocks a thread until the name servers answer. Concurrent requests for a name share one look-up, so a
    /// name server that does not answer blocks at most one thread for each name.
    final class NameResolver: Sendable {
        /// A host name with a port.
        struct Name: Hashable, Sendable {
            let host: String
            let port: UInt16
        }

        typealias Outcome = Result<[SocketAddress], HTTPFailure>
        /// Resolves a name, blocking.
        typealias Lookup = @Sendable (Name) throws(ResolveError) -> [SocketAddress]

        private struct State {
            var known: [Name: Known] = [:]
            /// The callers that wait for a pending look-up.
            var waiting: [Name: [UInt64: CheckedContinuation<Outcome, Never>]] = [:]
            var lastID: UInt64 = 0
        }

        private struct Known {
            let addresses: [SocketAddress]
            let expiry: ContinuousClock.Instant
        }

        private let state = Mutex(State())
        private let lifetime: Duration
        private let lookup: Lookup

        /// Creates a resolver with an empty cache.
        ///
        /// - Parameters:
        ///   - lifetime: The lifetime of cached addresses.
        ///   - lookup: Resolves a name, blocking; by default the system's resolver.
        init(
            lifetime: Duration = .seconds(30),
            lookup: @escaping Lookup = { name throws(ResolveError) in
                try SocketAddress.resolve(host: name.host, port: name.port)
            }
        ) {
            self.lifetime = lifetime
            self.lookup = lookup
        }

        /// Returns the addresses of a name, the best first; at least one.
        ///
        /// Throws `.unreachable` if there is no address or no answer within the limit, and `.cancelled` when the task
        /// is cancelled.
        func addresses(
            of name: Name,
            within limit: Duration
        ) async throws(HTTPFailure) -> [SocketAddress] {
            if let address = SocketAddress(ip: name.host, port: name.port) { return [address] }
            let (known, id) = state.withLock { state in
                state.lastID += 1
                let known = state.known[name].flatMap { $0.expiry > .now ? $0.addresses : nil }
                return (known, state.lastID)
            }
            if let known { return known }
            let outcome: Outcome = await withTaskCancellationHandler {
                await withCheckedContinuation { wait(for: name, id, within: limit, $0) }
            } onCancel: {
                end(id, of: name, .failure(.cancelled(mayHaveArrived: false)))
            }
            return try outcome.get()
        }

        /// The number of callers that wait for the look-up of a name.
        func waitingCount(for name: Name) -> Int { state.withLock { $0.waiting[name]?.count ?? 0 } }

        /// Removes the cached addresses of a name, because none of them has answered.
        func forget(_ name: Name) { state.withLock { $0.known[name] = nil } }

        private func wait(
            for name: Name,
            _ id: UInt64,
            within limit: Duration,
            _ continuation: CheckedContinuation<Outcome, Never>
        ) {
            let isFirst = state.withLock { state in
                let isFirst = state.waiting[name] == nil
                state.waiting[name, default: [:]][id] = continuation
                return isFirst
            }
            // A cancellation before this point found nothing to cancel.
            if Task.isCancelled { end(id, of: name, .failure(.cancelled(mayHaveArrived: false))) }
            let queue = DispatchQueue.global()
            if isFirst { queue.async { self.look(up: name) } }
            let milliseconds = max(Int(limit / .milliseconds(1)), 1)
            queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) {
                let reason = "no answer to the look-up of \(name.host) in time"
                self.end(id, of: name, .failure(.unreachable(reason)))
            }
        }

        private func look(up name: Name) {
            let outcome: Outcome
            do throws(ResolveError) {
                outcome = .success(try lookup(name))
            } catch {
                outcome = .failure(.unreachable("\(error)"))
            }
            let waiting = state.withLock { state in
                let now = ContinuousClock.now
                // Removes the expired addresses of names that were used only once.
                state.known = state.known.filter { $0.value.expiry > now }
                if case .success(let addresses) = outcome {
                    let expiry = now + lifetime
                    state.known[name] = Known(addresses: addresses, expiry: expiry)
                }
                return state.waiting.removeValue(forKey: name) ?? [:]
            }
            for continuation in waiting.values { continuation.resume(returning: outcome) }
        }

        /// Ends one wait, if it has not ended; the look-up continues for the others.
        private func end(_ id: UInt64, of name: Name, _ outcome: Outcome) {
            let continuation = state.withLock { $0.waiting[name]?.removeValue(forKey: id) }
            continuation?.resume(returning: outcome)
        }
    }
#endif
