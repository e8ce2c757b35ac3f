#if os(Linux)
    import HTTP1
    import Net

    /// One connection to a server; confined to the loop's thread.
    ///
    /// It carries one request at a time, and tells its pool when it is done, free or lost. By a proxy it asks for a tunnel
    /// first, and encrypts what goes through it.
    final class PooledConnection: StreamDelegate, TimerTarget {
        typealias Encryption = (TLSContext, serverName: String)

        private unowned let pool: ConnectionPool
        private(set) var stream: Stream?
        private(set) var exchange: Exchange?
        /// When it was opened, or made.
        private(set) var openedAt: MonotonicTime
        private var answer = PendingAnswer()
        /// The bytes of the answer that were left with the stream, for they are less than a line.
        private var leftCount = 0
        /// Whether an answer came over it before: only such a connection can be stale.
        private var wasUsed = false
        /// What the proxy has been asked for and has not answered yet.
        private var tunnel: ProxyTunnel?
        private let encryption: Encryption?
        /// Whether requests can be written: behind a tunnel and TLS, if there are such.
        private var isReady = false
        /// Why the proxy opens no tunnel.
        private var refusal: String?
        private var timers: [Alarm: TimerID] = [:]

        /// What a timer of the connection is for.
        private enum Alarm: Int {
            /// No request has come for long.
            case idle
            /// The content has had its time.
            case content
            /// A muted stream is read again.
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

        /// Takes a request; it is written as soon as the connection is open.
        func carry(_ exchange: Exchange) {
            cancel(.idle)
            self.exchange = exchange
            answer = PendingAnswer(to: exchange)
            leftCount = 0
            if let stream, stream.isOpen, isReady { write(to: stream) }
        }

        /// Gives the request up and the connection with it.
        func abandon() -> Exchange? {
            let abandoned = exchange
            exchange = nil
            stream?.abort()
            return abandoned
        }

        /// Keeps the connection for another request, for a while.
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

        // MARK: The stream

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
                // Nothing was asked: whatever this is, it would pass for the next answer.
                stream.abort()
                return bytes.count
            }
            var index = 0
            if let tunnel {
                readAnswer(tunnel, bytes.span, at: &index, stream)
            } else if bytes.count > leftCount {
                pool.noteRead()
                read(bytes.span, &index)
                leftCount = bytes.count - index
            }
            // Else a stream that is read again has lent what was left, before it reads.
            return index
        }

        /// Reads the proxy's answer; the stream opens once more when what goes through the tunnel is to be encrypted.
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

        /// Reads on in the answer, and decides when the stream is read next.
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

        /// A server may send the records of TLS byte by byte, too.
        func streamAwaitsRecord(_ stream: Stream) {
            guard exchange != nil, isReady else { return }
            pool.noteRead()
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

        /// A server may refuse a long request before it has read it.
        func readsAfterFailedWrite(_ stream: Stream) -> Bool { exchange != nil && tunnel == nil }

        func streamClosed(_ stream: Stream, error: StreamError?) {
            for timer in timers.values { pool.reactor.cancel(timer) }
            timers = [:]
            self.stream = nil
            // Where the status alone matters, it is there.
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
                case nil: "the other side closed it"
                }
            return tunnel.map { $0.unreachable(reason).reason } ?? reason
        }

        // MARK: The end of an exchange

        /// Ends the exchange with an answer.
        ///
        /// - Parameters:
        ///   - body: The content.
        ///   - idleTime: How long the connection may be kept; `nil` if another answer cannot be told from this one.
        private func complete(_ body: [UInt8], idleTime: Duration?) {
            guard let done = exchange, let head = answer.head else { return }
            release()
            wasUsed = true
            let content = done.contentPeriod == nil ? body : []
            done.finish(.success(HTTPAnswer(status: head.status.code, body: content)))
            pool.finished(done.id, self, idleTime: idleTime)
        }

        /// Ends the exchange with the status, and the connection at once: its server may go on for ever.
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

        /// Takes the exchange off, and listens again: for the server's end, or for what comes unasked.
        private func release() {
            exchange = nil
            cancel(.content)
            cancel(.read)
            stream?.unmuteReading()
        }
    }
#endif
