import FanfareServer
import Glibc

/// What a running broker is told to do from outside.
enum Order: Sendable, Equatable {
    /// To stop, by a signal.
    case stop(signal: Int32)
    /// To read its configuration again.
    case reload
}

/// The orders as they come: signals, and changes of the configuration file.
struct Orders: Sendable {
    private let signals: AsyncStream<Int32>
    private let watch: FileWatch?
    /// Whether standard error was a terminal at the start.
    private let hadTerminal = isatty(STDERR_FILENO) == 1

    /// Takes the signals over and watches the file, once a process; before the file is read.
    ///
    /// - Parameter file: The configuration file; without one there is nothing to read again.
    init(file: String?) {
        signals = Signals.install()
        watch = file.map { FileWatch($0) }
    }

    /// What a signal means.
    ///
    /// SIGHUP also comes when the terminal is closed: then nobody is left to stop a broker that reads its file instead.
    private func order(of signal: Int32) -> Order {
        guard signal == SIGHUP, watch != nil else { return .stop(signal: signal) }
        let hasLostTerminal = hadTerminal && isatty(STDERR_FILENO) != 1
        return hasLostTerminal ? .stop(signal: signal) : .reload
    }

    /// Hands over order after order, until one is to stop.
    ///
    /// - Parameter obey: Carries out an order to read the configuration again.
    /// - Returns: The signal that was the order to stop.
    func untilStop(_ obey: () async -> Void) async -> Int32 {
        let (orders, continuation) = AsyncStream.makeStream(of: Order.self)
        let listening = Task {
            for await signal in signals { continuation.yield(order(of: signal)) }
        }
        let watching = Task { [watch] in
            guard var watch else { return }
            while true {
                try await watch.change()
                continuation.yield(.reload)
            }
        }
        defer {
            listening.cancel()
            watching.cancel()
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
