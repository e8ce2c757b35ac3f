import FanfareServer
import Glibc
import Net
import Synchronization

/// What a running broker is told to do from outside.
enum Order: Sendable, Equatable {
    /// To stop, by a signal.
    case stop(signal: Int32)
    /// To read its configuration again.
    case reload
}

/// The orders as they come: signals, and changes of the configuration file and of what it names.
final class Orders: Sendable {
    private let orders: AsyncStream<Order>
    private let continuation: AsyncStream<Order>.Continuation
    private let signals: AsyncStream<Int32>
    private let file: Watch?
    private let certificates = Mutex<(paths: [String], watch: Watch?)>(([], nil))
    /// Whether standard error was a terminal at the start.
    private let hadTerminal = isatty(STDERR_FILENO) == 1

    private typealias Watch = Task<Void, any Error>

    /// Takes the signals over and watches the file, once a process; before the file is read.
    ///
    /// - Parameter file: The configuration file, if there is one.
    init(file: String?) {
        signals = Signals.install()
        (orders, continuation) = AsyncStream.makeStream(of: Order.self)
        self.file = file.map { [continuation] in Self.watch([$0], continuation) }
    }

    /// Watches the files of certificates, and no others any more; before they are read.
    func watch(certificates files: [CertificateFiles]) {
        let paths = files.flatMap { [$0.certificate, $0.key] }
        certificates.withLock { watched in
            guard watched.paths != paths else { return }
            watched.watch?.cancel()
            watched = (paths, paths.isEmpty ? nil : Self.watch(paths, continuation))
        }
    }

    private static func watch(
        _ paths: [String],
        _ continuation: AsyncStream<Order>.Continuation
    ) -> Watch {
        let watch = FileWatch(paths)
        return Task {
            var watch = watch
            while true {
                try await watch.change()
                continuation.yield(.reload)
            }
        }
    }

    /// What a signal means.
    ///
    /// Without a file there is nothing to read again. SIGHUP also comes when the terminal is closed: then nobody is left
    /// to stop a broker that reads its file instead.
    private func order(of signal: Int32) -> Order {
        let hasFile = file != nil || certificates.withLock { $0.watch != nil }
        guard signal == SIGHUP, hasFile else { return .stop(signal: signal) }
        let hasLostTerminal = hadTerminal && isatty(STDERR_FILENO) != 1
        return hasLostTerminal ? .stop(signal: signal) : .reload
    }

    /// Hands over order after order, until one is to stop.
    ///
    /// - Parameter obey: Carries out an order to read the configuration again.
    /// - Returns: The signal that was the order to stop.
    func untilStop(_ obey: () async -> Void) async -> Int32 {
        let listening = Task {
            for await signal in signals { continuation.yield(order(of: signal)) }
        }
        defer {
            listening.cancel()
            file?.cancel()
            certificates.withLock { $0.watch?.cancel() }
        }
        for await order in orders {
            switch order {
            case .reload: await obey()
            case .stop(let signal): return signal
            }
        }
        preconditionFailure("the orders ended without one to stop")
    }
}
