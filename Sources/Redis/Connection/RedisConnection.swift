public import Net
import RESP

/// A connection to a Redis server, by RESP3: calls in a pipeline, and published messages between their replies.
///
/// Confined to its reactor's thread. Replies and pushes are passed on in the order in which Redis has sent them. So a
/// message that was published before a call was executed arrives before the call's reply. A connection is opened once.
/// After its end the delegate makes another, for example with ``ReconnectBackoff``.
///
/// No call waits for a connection that is not open, and the bytes of unanswered calls are bounded. The connection ends
/// as soon as a call has waited for ``RedisSettings/answerTimeout``, so a delegate that calls regularly notices a lost
/// server.
public final class RedisConnection {
    /// The settings.
    public let settings: RedisSettings
    /// The time between the last answered call and its answer; nil before the first.
    public internal(set) var lastRoundTrip: Duration?

    let reactor: Reactor
    // Weak: the connection may outlive its owner, until the reactor has closed the stream.
    weak var delegate: (any RedisConnectionDelegate)?
    var stream: Stream?
    var parser: RESPParser
    var phase = Phase.connecting
    var unanswered = UnansweredCalls()
    /// The reason of the end, once it is known.
    var fault: RedisFault?
    /// The deadline of opening, or the time to check the oldest call.
    var timer: TimerID?
    private var lookup: HostLookup?
    /// The addresses that have not been tried.
    private var addresses: ArraySlice<SocketAddress> = []
    private var tls: (TLSContext, serverName: String)?

    enum Phase {
        case connecting
        case handshake(Handshake)
        case open
        case closed
    }

    /// The purpose of a timer.
    enum Alarm: Int {
        /// The connection, or the oldest call, may have taken too long.
        case deadline
        /// The name servers may have answered.
        case lookup
        /// There is no stream of whose end the reactor could notify.
        case end
    }

    private init(
        _ settings: RedisSettings,
        on reactor: Reactor,
        delegate: any RedisConnectionDelegate
    ) {
        self.settings = settings
        self.reactor = reactor
        self.delegate = delegate
        parser = RESPParser(limits: settings.limits)
        timer = reactor.schedule(after: settings.openTimeout, self, tag: Alarm.deadline.rawValue)
    }

    // MARK: Opening

    /// Connects to a server.
    ///
    /// A name is looked up on another thread; its addresses are tried one after the other.
    ///
    /// - Parameters:
    ///   - url: The server's address. Its credentials take precedence over those of the settings.
    ///   - tls: The accepted certificates; necessary for a secure address.
    ///   - settings: The settings.
    ///   - reactor: The reactor of the loop.
    ///   - delegate: Not retained. Its `opened` or `closed` is called with the result, never from inside this call.
    /// - Returns: The connection, not open yet.
    public static func connect(
        to url: RedisURL,
        tls: TLSContext? = nil,
        settings: RedisSettings,
        on reactor: Reactor,
        delegate: any RedisConnectionDelegate
    ) -> RedisConnection {
        precondition(!url.isSecure || tls != nil, "a secure address without accepted certificates")
        var settings = settings
        if let password = url.password {
            (settings.username, settings.password) = (url.username, password)
        }
        let connection = RedisConnection(settings, on: reactor, delegate: delegate)
        switch url.location {
        case .unix(let path): connection.connect(to: [.unix(path: path)])
        case .host(let host, let port):
            if url.isSecure, let tls { connection.tls = (tls, serverName: host) }
            if let address = SocketAddress(ip: host, port: port) {
                connection.connect(to: [address])
            } else {
                connection.lookup = HostLookup(host: host, port: port)
                connection.awaitLookup()
            }
        }
        return connection
    }

    /// Uses a socket that is already connected, for example one end of a socketpair(2).
    ///
    /// - Parameters:
    ///   - descriptor: The socket; it is made non-blocking.
    ///   - settings: The settings.
    ///   - reactor: The reactor of the loop.
    ///   - delegate: Not retained. Its methods are not called from inside this call.
    /// - Returns: The connection, not open yet.
    /// - Throws: The call that failed.
    public static func adopt(
        _ descriptor: consuming FileDescriptor,
        settings: RedisSettings,
        on reactor: Reactor,
        delegate: any RedisConnectionDelegate
    ) throws(SystemError) -> RedisConnection {
        let connection = RedisConnection(settings, on: reactor, delegate: delegate)
        do throws(SystemError) {
            connection.stream = try reactor.adopt(
                descriptor,
                limits: connection.streamLimits,
                delegate: connection
            )
        } catch {
            connection.cancelTimer()
            throw error
        }
        return connection
    }

    /// The queue is bounded by the unanswered calls and the handshake before them.
    private var streamLimits: StreamLimits {
        StreamLimits(
            queuedBytesMax: settings.unansweredBytesMax + Handshake.commands(settings).count,
            handshakeTimeout: settings.openTimeout
        )
    }

    /// Checks every few milliseconds whether the name servers have answered; done once per connection.
    private func awaitLookup() {
        reactor.schedule(after: .milliseconds(5), self, tag: Alarm.lookup.rawValue)
    }

    func continueLookup() {
        guard fault == nil else { return }
        switch lookup?.result {
        case .success(let addresses): connect(to: addresses)
        case .failure(let error): fail(.unresolvable(error))
        case nil: awaitLookup()
        }
    }

    private func connect(to addresses: [SocketAddress]) {
        self.addresses = addresses[...]
        _ = tryNextAddress(after: nil)
    }

    /// Connects to the next address, if one is left and the last one could not be reached.
    func tryNextAddress(after error: StreamError?) -> Bool {
        guard fault == nil, let address = addresses.popFirst() else { return false }
        if case .tls = error { return false }
        do throws(SystemError) {
            stream = try reactor.connect(
                to: address,
                tls: tls,
                timeout: settings.openTimeout,
                limits: streamLimits,
                delegate: self
            )
        } catch {
            stream = nil
            fail(.stream(.system(error)))
        }
        return true
    }

    // MARK: Closing

    /// Ends the connection at once; the delegate's `closed` follows in this turn or the next.
    public func close() { fail(.closedByOwner) }

    func fail(_ fault: RedisFault) {
        guard self.fault == nil else { return }
        self.fault = fault
        if let stream {
            stream.abort()
        } else {
            reactor.schedule(after: .zero, self, tag: Alarm.end.rawValue)
        }
    }

    /// Notifies the delegate of the end.
    func end(_ fault: RedisFault) {
        phase = .closed
        cancelTimer()
        stream = nil
        self.fault = fault
        delegate?.closed(self, fault, unanswered: unanswered.ids)
    }

    func cancelTimer() {
        if let timer = timer.take() { reactor.cancel(timer) }
    }
}
