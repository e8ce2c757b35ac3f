#if os(Linux)
    import HTTPClient
    import Net
    import Synchronization

    /// The event loop of all connections of this process's clients.
    actor ClientLoop: LoopResident {
        /// A command for a connection.
        enum Command: Sendable {
            case begin(TransportRequest, any TransportReceiver)
            case connect(Route)
            case fail(TransportClosure)
            case send([UInt8])
            case close(code: UInt16, reason: String)
            case pauseReading
            case resumeReading
        }

        private typealias Message = (number: UInt64, command: Command)

        /// Started once and never stopped: an idle thread costs little, and a stop would race with new connections.
        private static let running = Mutex<ClientLoop?>(nil)

        nonisolated private let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        nonisolated private let mailbox: Mailbox<Message>
        private let reactor: Reactor
        /// By number, because a link outlives its connection object: it still sends the close frame.
        private var links: [UInt64: SocketLink] = [:]
        private var contexts: [Verification: TLSContext] = [:]
        /// The most cached TLS contexts, more than a process needs.
        private static let contextCountMax = 16

        /// Returns the running loop, and starts it if there is none; throws when threads or descriptors are exhausted.
        static func shared() throws(SystemError) -> ClientLoop {
            try running.withLock { running throws(SystemError) in
                if let running { return running }
                let new = try ClientLoop()
                try new.loop.start(new)
                running = new
                return new
            }
        }

        private init() throws(SystemError) {
            let loop = try EventLoop(name: "fanfare-client")
            reactor = try Reactor(loop: loop)
            mailbox = Mailbox(wakes: loop)
            self.loop = loop
        }

        /// Queues a command for the loop; commands run in order.
        nonisolated func post(_ command: Command, for number: UInt64) {
            mailbox.post((number, command))
        }

        /// One turn: waits for events, reads, performs commands, writes.
        func turn() -> Bool {
            reactor.poll()
            for message in mailbox.drain() { perform(message.command, for: message.number) }
            reactor.flush()
            return true
        }

        private func perform(_ command: Command, for number: UInt64) {
            if case .begin(let request, let receiver) = command {
                links[number] = SocketLink(request, receiver, reactor: reactor) {
                    self.links[number] = nil
                }
                return
            }
            // Commands for a link that has ended are ignored.
            guard let link = links[number] else { return }
            switch command {
            case .begin: break
            case .connect(let route):
                do throws(TLSError) {
                    link.connect(by: route, tls: try context(for: route.verification))
                } catch {
                    link.fail(.untrusted(reason: error.description))
                }
            case .fail(let closure): link.fail(closure)
            case .send(let text): link.send(text)
            case .close(let code, let reason): link.close(code: code, reason: reason)
            case .pauseReading: link.pauseReading()
            case .resumeReading: link.resumeReading()
            }
        }

        private func context(for verification: Verification?) throws(TLSError) -> TLSContext? {
            guard let verification else { return nil }
            if let known = contexts[verification] { return known }
            let new = try TLSContext.client(verification)
            // Evicts an arbitrary one: a recreated context only loses its TLS sessions.
            if contexts.count == Self.contextCountMax, let old = contexts.keys.first {
                contexts[old] = nil
            }
            contexts[verification] = new
            return new
        }
    }
#endif
