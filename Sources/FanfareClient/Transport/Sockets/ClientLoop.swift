#if os(Linux)
    import HTTPClient
    import Net
    import Synchronization

    /// The event loop that carries every connection of this process's clients.
    actor ClientLoop: LoopResident {
        /// What is to be done with a connection.
        enum Command: Sendable {
            case begin(TransportRequest, any TransportReceiver)
            case connect(Route)
            case fail(TransportClosure)
            case send([UInt8])
            case close(code: UInt16, reason: String)
            case pauseReading
            case resumeReading
        }

        private typealias Letter = (number: UInt64, command: Command)

        /// Started once, and kept: a thread that waits costs little, and stopping it a race.
        private static let running = Mutex<ClientLoop?>(nil)

        nonisolated private let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        nonisolated private let mailbox: Mailbox<Letter>
        private let reactor: Reactor
        /// By number, since a link outlives its connection object: it still says farewell.
        private var links: [UInt64: SocketLink] = [:]
        private var contexts: [Verification: TLSContext] = [:]
        /// More kinds of trust than one process has use for.
        private static let contextCountMax = 16

        /// The loop, running.
        ///
        /// - Throws: Descriptors, threads or memory have run out; the next call tries again.
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

        /// Has a command carried out on the loop, after all that were posted before.
        nonisolated func post(_ command: Command, for number: UInt64) {
            mailbox.post((number, command))
        }

        /// Waits, reads, does what clients want, writes.
        func turn() -> Bool {
            reactor.poll()
            for letter in mailbox.drain() { carryOut(letter.command, for: letter.number) }
            reactor.flush()
            return true
        }

        private func carryOut(_ command: Command, for number: UInt64) {
            if case .begin(let request, let receiver) = command {
                links[number] = SocketLink(request, receiver, reactor: reactor) {
                    self.links[number] = nil
                }
                return
            }
            // A link that has ended takes no more commands.
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
            // Which one goes hardly matters: a context that is made anew only forgets its sessions.
            if contexts.count == Self.contextCountMax, let old = contexts.keys.first {
                contexts[old] = nil
            }
            contexts[verification] = new
            return new
        }
    }
#endif
