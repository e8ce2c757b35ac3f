import Net

/// The loop's resident: a reactor and its listener.
actor EchoRoom: LoopResident {
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

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - address: Port 0 lets the kernel choose.
    ///   - tls: Encrypts all connections; nil for plain ones.
    /// - Returns: The address with its real port.
    /// - Throws: The call that failed, for example `bind` if the port is in use.
    func listen(on address: SocketAddress, tls: TLSContext?) throws(SystemError) -> SocketAddress {
        // One echo of the longest message on top of what is queued before reading pauses.
        let limits = StreamLimits(queuedBytesMax: 80 << 20)
        let reactor = reactor
        let listener = try reactor.listen(on: address, tls: tls, streamLimits: limits) { _ in
            EchoConnection(reactor: reactor)
        }
        return listener.address
    }
}
