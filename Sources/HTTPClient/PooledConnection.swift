#if os(Linux)
    import HTTP1
    import Net

    /// One connection to the server; confined to the pool's thread.
    ///
    /// It carries one request at a time, and tells its pool when it is done, free or lost. By a proxy it asks for a tunnel
    /// first, and encrypts what goes through it.
    final class PooledConnection: StreamDelegate, TimerTarget {
        private unowned let pool: ConnectionPool.Core
        private(set) var stream: Stream?
        private(set) var exchange: Exchange?
        private var parser = ResponseParser()
        private var head: ResponseHead?
        /// Whether an answer came over it before: only such a connection can be stale.
        private(set) var wasUsed = false
        /// Whether a byte of the answer to this request has come.
        private var hasBegun = false
        private var idleTimer: TimerID?
        /// What the proxy has been asked for and has not answered yet.
        private var tunnel: ProxyTunnel?
        private let encryption: Encryption?
        typealias Encryption = (TLSContext, serverName: String)
        /// Whether requests can be written: behind a tunnel and TLS, if there are such.
        private var isReady = false
        /// Why the proxy opens no tunnel.
        private var refusal: String?

        init(
            pool: ConnectionPool.Core,
            tunnel: ProxyTunnel?,
            _ encryption: Encryption?
        ) {
            self.pool = pool
            self.tunnel = tunnel
            self.encryption = encryption
        }

        func attach(_ stream: Stream) { self.stream = stream }

        /// Takes a request; it is written as soon as the connection is open.
        func carry(_ exchange: Exchange) {
            if let idleTimer { pool.reactor.cancel(idleTimer) }
            idleTimer = nil
            self.exchange = exchange
            hasBegun = false
            head = nil
            parser = ResponseParser(limits: HTTPLimits(bodyLengthMax: exchange.answerLengthMax))
            parser.expect(exchange.method)
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
        func rest(for time: Duration) {
            idleTimer = pool.reactor.schedule(after: time, self)
        }

        func timerFired(tag: Int) {
            idleTimer = nil
            stream?.close(within: .seconds(1))
        }

        func streamOpened(_ stream: Stream) {
            if let tunnel { return stream.write(tunnel.request) }
            begin(stream)
        }

        private func begin(_ stream: Stream) {
            isReady = true
            write(to: stream)
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
                timeout: exchange.timeout
            )
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
                return index
            }
            hasBegun = true
            do throws(HTTPError) {
                while exchange != nil {
                    switch try parser.advance(over: bytes.span, from: &index) {
                    case .needsMore: return index
                    case .interim: continue
                    case .head(let head): self.head = head
                    case .content(let content):
                        complete(content.copy(from: bytes.span), isLast: index == bytes.count)
                    }
                }
            } catch {
                fail(PooledConnection.failure(error))
            }
            return index
        }

        func streamReachedEnd(_ stream: Stream) {
            if let tunnel { refusal = refusal ?? tunnel.ended.reason }
            if exchange != nil, head != nil {
                do throws(HTTPError) {
                    if let content = try parser.finish() {
                        complete(content.copy(from: [UInt8]().span), isLast: false)
                    }
                } catch {
                    fail(PooledConnection.failure(error))
                }
            }
            stream.abort()
        }

        func streamClosed(_ stream: Stream, error: StreamError?) {
            if let idleTimer { pool.reactor.cancel(idleTimer) }
            let unanswered = exchange
            exchange = nil
            self.stream = nil
            pool.lost(
                self,
                unanswered,
                isStale: wasUsed && !hasBegun,
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

        /// Ends the exchange with an answer; the connection is kept if both sides can tell where the next one begins.
        private func complete(_ body: [UInt8], isLast: Bool) {
            guard let done = exchange, let head else { return }
            exchange = nil
            wasUsed = true
            done.finish(.success(HTTPAnswer(status: head.status.code, body: body)))
            pool.finished(done.id, self, canBeKept: head.keepAlive && isLast)
        }

        private func fail(_ error: HTTPFailure) {
            guard let failed = exchange else { return }
            exchange = nil
            failed.finish(.failure(error))
            pool.finished(failed.id, self, canBeKept: false)
        }

        private static func failure(_ error: HTTPError) -> HTTPFailure {
            switch error {
            case .contentTooLong(_, let limit): .answerTooLong(lengthMax: limit)
            case .responseTruncated: .connectionLost("the answer was cut off")
            default: .unexpectedAnswer("\(error)")
            }
        }
    }
#endif
