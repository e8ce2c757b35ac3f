import FanfareServer
import Glibc
import Logging
import Net
import Synchronization

/// What a running broker is told to do from outside.
enum Order: Sendable, Equatable {
    /// To stop, by a signal.
    case stop(signal: Int32)
    /// To read its configuration again.
    case reload
}

/// The files of certificates as they are now: any later change of them is seen once they are watched.
struct CertificateWatch {
    let paths: [String]
    let files: FileWatch

    /// Looks at the files; make it before they are read.
    init(_ certificates: [CertificateFiles]) {
        paths = certificates.flatMap { [$0.certificate, $0.key] }
        files = FileWatch(paths)
    }
}

/// The orders as they come: signals, and changes of the configuration file and of what it names.
final class ControlEvents: Sendable {
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
        self.file = file.map { [continuation] in Self.watch(FileWatch($0), continuation) }
    }

    /// Watches these files of certificates, and no others any more.
    func watch(_ certificates: CertificateWatch) {
        self.certificates.withLock { watched in
            guard watched.paths != certificates.paths else { return }
            watched.watch?.cancel()
            let isEmpty = certificates.paths.isEmpty
            watched = (
                certificates.paths, isEmpty ? nil : Self.watch(certificates.files, continuation)
            )
        }
    }

    private static func watch(
        _ files: FileWatch,
        _ continuation: AsyncStream<Order>.Continuation
    ) -> Watch {
        Task {
            var watch = files
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

/// Takes over the configuration of a running broker: all of it, or nothing.
struct ConfigurationReload {
    let server: BrokerServer
    /// The log, whose level is part of the configuration.
    let log: QueuedLog
    /// Watches these files of certificates and no others.
    let watch: (CertificateWatch) -> Void

    /// Reads the configuration and has the broker take it over, or logs every fault.
    ///
    /// - Parameter read: Reads the configuration.
    func run(_ read: () throws(ConfigurationError) -> Configuration) async {
        let logger = log.logger(label: "broker")
        do throws(ConfigurationError) {
            let configuration = try read()
            // Before the broker reads the certificates, so that no change of them is missed.
            let certificates = CertificateWatch(configuration.certificates)
            try await server.reload(configuration) {
                watch(certificates)
                log.level = configuration.log.level
            }
        } catch {
            for fault in error.faults { logger.error("the configuration has a fault: \(fault)") }
            logger.error("the configuration is not taken over: nothing has changed")
        }
    }
}
