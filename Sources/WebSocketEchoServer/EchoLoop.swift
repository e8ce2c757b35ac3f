import Net

/// The loop's resident: a reactor with a listener.
actor EchoLoop: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let reactor: Reactor

    init(loop: EventLoop) throws(SystemError) {
        self.loop = loop
        reactor = try Reactor(loop: loop)
    }

    func turn() -> Bool {
        reactor.turn()
        return true
    }

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - address: The address; with port 0 the kernel chooses a port.
    ///   - tls: The TLS configuration; nil for plain connections.
    /// - Returns: The address with the chosen port.
    /// - Throws: The call that failed, for example `bind` if the port is in use.
    func listen(on address: SocketAddress, tls: TLSContext?) throws(SystemError) -> SocketAddress {
        // One echo of the longest message in addition to the bytes queued before reading pauses.
        let limits = StreamLimits(queuedBytesMax: 80 << 20)
        let reactor = reactor
        let listener = try reactor.listen(on: address, tls: tls, streamLimits: limits) { _, _ in
            EchoConnection(reactor: reactor)
        }
        return listener.address
    }
}
