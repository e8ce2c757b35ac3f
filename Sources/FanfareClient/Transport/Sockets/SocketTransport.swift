#if os(Linux)
    import Dispatch
    import Net
    import Synchronization

    /// Connects clients over the package's own sockets, with OpenSSL for `wss`.
    ///
    /// All connections of the process share one event loop, whose thread starts with the first connection. Names are
    /// resolved and certificates read on other threads, since both block. The addresses of a name are tried in turn,
    /// each with its share of the time.
    struct SocketTransport: TransportOpener {
        /// Starts to open a connection and returns at once.
        func open(
            _ request: TransportRequest,
            receiver: any TransportReceiver
        ) -> any TransportConnection {
            do throws(SystemError) {
                let loop = try ClientLoop.shared()
                let connection = SocketConnection(loop: loop)
                loop.post(.begin(request, receiver), for: connection.number)
                DispatchQueue.global().async {
                    do throws(ConnectionPlan.Fault) {
                        loop.post(.connect(try Route(for: request)), for: connection.number)
                    } catch {
                        loop.post(.fail(error.closure), for: connection.number)
                    }
                }
                return connection
            } catch {
                let reason = "no event loop: \(error)"
                DispatchQueue.global().async {
                    receiver.transportClosed(.unreachable(reason: reason))
                }
                return NoConnection()
            }
        }
    }

    /// A client's handle of a connection: it posts commands to the loop, in order.
    final class SocketConnection: TransportConnection {
        private static let count = Atomic<UInt64>(0)

        /// Unique in the process, also after this object is deallocated.
        let number = SocketConnection.count.add(1, ordering: .relaxed).newValue
        private let loop: ClientLoop

        init(loop: ClientLoop) { self.loop = loop }

        func send(_ text: [UInt8]) { loop.post(.send(text), for: number) }

        func close(code: UInt16, reason: String) {
            loop.post(.close(code: code, reason: reason), for: number)
        }

        func pauseReading() { loop.post(.pauseReading, for: number) }

        func resumeReading() { loop.post(.resumeReading, for: number) }
    }

    /// A connection that could not be opened; it ignores all calls.
    private struct NoConnection: TransportConnection {
        func send(_ text: [UInt8]) {}
        func close(code: UInt16, reason: String) {}
        func pauseReading() {}
        func resumeReading() {}
    }
#endif
