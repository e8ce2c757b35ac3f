#if os(Linux)
    import HTTP1
    import Net

    /// One connection to a server; confined to the loop's thread.
    ///
    /// It carries one request at a time, and reports to its pool. With a proxy it first opens a tunnel, and encrypts
    /// the data in it.
    final class PooledConnection: StreamDelegate, TimerTarget {
        typealias Encryption = (TLSContext, serverName: String)

        private unowned let pool: ConnectionPool
        private(set) var stream: Stream?
        private(set) var exchange: Exchange?
        /// The time at which it was opened, or created.
        private(set) var openedAt: MonotonicTime
        private var answer = PendingAnswer()
        /// The unconsumed bytes of the response in the stream: an incomplete line.
        private var leftCount = 0
        /// Whether it has carried a response before; only such a connection can be stale.
        private var wasUsed = false
        /// The tunnel request, until the proxy has answered.
        private var tunnel: ProxyTunnel?
        private let encryption: Encryption?
        /// Whether requests can be written: tunnel and TLS, if any, are established.
        private var isReady = false
        /// The reason why the proxy has refused the tunnel.
        private var refusal: String?
        private var timers: [Alarm: TimerID] = [:]

        /// The purpose of a timer.
        private enum Alarm: Int {
            /// The idle time has passed.
            case idle
            /// The time limit of the content has passed.
            case content
            /// The pause between reads has passed.
            case read
        }

        init(
            pool: ConnectionPool,
            tunnel: ProxyTunnel?,
            _ encryption: Encryption?
        ) {
            self.pool = pool
            self.tunnel = tunnel
            self.encryption = encryption
            openedAt = pool.reactor.now
        }

        func attach(_ stream: Stream) { self.stream = stream }

        /// Assigns a request; it is written as soon as the connection is open.
        func carry(_ exchange: Exchange) {
            cancel(.idle)
            self.exchange = exchange
            answer = PendingAnswer(to: exchange)
            leftCount = 0
            if let stream, stream.isOpen, isReady { write(to: stream) }
        }

        /// Removes the request, and aborts the connection.
        func abandon() -> Exchange? {
            let abandoned = exchange
            exchange = nil
            stream?.abort()
            return abandoned
        }

        /// Keeps the connection idle for a time.
        func rest(for time: Duration) { schedule(.idle, after: time) }

        // MARK: Timers

        private func schedule(_ alarm: Alarm, after delay: Duration) {
            timers[alarm] = pool.reactor.schedule(after: delay, self, tag: alarm.rawValue)
        }

        private func cancel(_ alarm: Alarm) {
            if let timer = timers.removeValue(forKey: alarm) { pool.reactor.cancel(timer) }
        }

        func timerFired(tag: Int) {
            guard let alarm = Alarm(rawValue: tag) else { return }
            timers[alarm] = nil
            switch alarm {
            case .idle: stream?.close(within: .seconds(1))
            case .content: cutOff()
            case .read: stream?.unmuteReading()
            }
        }

        // MARK: Stream

        func streamOpened(_ stream: Stream) {
            openedAt = pool.reactor.now
            if let tunnel { return stream.write(tunnel.request) }
            begin(stream)
        }

        private func begin(_ stream: Stream) {
            isReady = true
            write(to: stream)
        }

        private func write(to stream: Stream) {
            guard exchange != nil else { return stream.abort() }
            exchange?.wasSent = true
            stream.write(exchange?.bytes ?? [])
        }

        func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
            guard exchange != nil else {
                // An unsolicited response would count as the response to the next request.
                stream.abort()
                return bytes.count
            }
            var index = 0
            if let tunnel {
                readAnswer(tunnel, bytes.span, at: &index, stream)
            } else if bytes.count > leftCount {
                pool.countRead()
                read(bytes.span, &index)
                leftCount = bytes.count - index
            }
            // Otherwise a resumed stream passes the unconsumed bytes once more, before it reads.
            return index
        }

        /// Parses the proxy's response.
        ///
        /// With TLS, the stream opens once more after the TLS handshake.
        private func readAnswer(
            _ tunnel: ProxyTunnel,
            _ bytes: Span<UInt8>,
            at index: inout Int,
            _ stream: Stream
        ) {
            var tunnel = tunnel
            do throws(ProxyTunnel.Refusal) {
                let isOpened = try tunnel.isOpened(by: bytes, at: &index)
                self.tunnel = isOpened ? nil : tunnel
                guard isOpened else { return }
            } catch {
                refusal = error.reason
                return stream.abort()
            }
            guard let encryption, let exchange else { return begin(stream) }
            stream.startTLS(
                encryption.0,
                serverName: encryption.serverName,
                timeout: exchange.timeLeft
            )
        }

        /// Parses the response, and schedules the next read.
        private func read(_ bytes: Span<UInt8>, _ index: inout Int) {
            let hadHead = answer.head != nil
            switch answer.read(bytes, &index) {
            case .complete(let body):
                let isLast = index == bytes.count && stream?.queuedByteCount == 0
                complete(body, idleTime: isLast ? answer.idleTime(pool.settings) : nil)
            case .cutOff: cutOff()
            case .failed(let failure): fail(failure)
            case .needsMore:
                if !hadHead, answer.head != nil, let exchange, let time = exchange.contentPeriod {
                    pool.answered(exchange.id)
                    schedule(.content, after: time)
                }
                pauseAfterRead()
            }
        }

        /// Called for an incomplete TLS record; a server may send these byte by byte, too.
        func streamAwaitsRecord(_ stream: Stream) {
            guard exchange != nil, isReady else { return }
            pool.countRead()
            pauseAfterRead()
        }

        private func pauseAfterRead() {
            guard pool.settings.pacesReading else { return }
            let pause = answer.pace.pauseAfterRead()
            guard pause > 0 else { return }
            stream?.muteReading()
            schedule(.read, after: .milliseconds(pause))
        }

        func streamReachedEnd(_ stream: Stream) {
            if let tunnel { refusal = refusal ?? tunnel.ended.reason }
            if exchange != nil {
                switch answer.end() {
                case .complete(let body): complete(body, idleTime: nil)
                case .cutOff: cutOff()
                case .failed(let failure): fail(failure)
                case .needsMore: break
                }
            }
            stream.abort()
        }

        /// A server may refuse a long request before it has read all of it.
        func readsAfterFailedWrite(_ stream: Stream) -> Bool { exchange != nil && tunnel == nil }

        func streamClosed(_ stream: Stream, error: StreamError?) {
            for timer in timers.values { pool.reactor.cancel(timer) }
            timers = [:]
            self.stream = nil
            // If only the status matters, the response is sufficient.
            if exchange?.contentPeriod != nil, answer.head != nil { complete([], idleTime: nil) }
            let unanswered = exchange
            exchange = nil
            pool.lost(
                self,
                unanswered,
                isStale: wasUsed && !answer.hasBegun,
                reason: reason(for: error)
            )
        }

        private func reason(for error: StreamError?) -> String {
            if let refusal { return refusal }
            let reason =
                switch error {
                case .tls(.unpinned(let keys)): Verification.fault(unpinned: keys)
                case let error?: error.description
                case nil: "the server closed the connection"
                }
            return tunnel.map { $0.unreachable(reason).reason } ?? reason
        }

        // MARK: End of an exchange

        /// Ends the exchange with a response.
        ///
        /// - Parameters:
        ///   - body: The content.
        ///   - idleTime: The time for which the connection may be reused; `nil` if it must be closed.
        private func complete(_ body: [UInt8], idleTime: Duration?) {
            guard let done = exchange, let head = answer.head else { return }
            release()
            wasUsed = true
            let content = done.contentPeriod == nil ? body : []
            done.finish(.success(HTTPAnswer(status: head.status.code, body: content)))
            pool.finished(done.id, self, idleTime: idleTime)
        }

        /// Ends the exchange with the status, and aborts the connection, because the content may be endless.
        private func cutOff() {
            complete([], idleTime: nil)
            stream?.abort()
        }

        private func fail(_ error: HTTPFailure) {
            guard let failed = exchange else { return }
            release()
            failed.finish(.failure(error))
            pool.finished(failed.id, self, idleTime: nil)
            stream?.abort()
        }

        /// Removes the exchange, and resumes reading, for the server's close or unsolicited data.
        private func release() {
            exchange = nil
            cancel(.content)
            cancel(.read)
            stream?.unmuteReading()
        }
    }
#endif
