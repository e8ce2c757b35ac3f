import BrokerConfiguration
import FanfareServer
import Glibc
import Logging
import Net
import ServerLog
import Synchronization

/// A request from outside to a running broker.
enum ControlEvent: Sendable, Equatable {
    /// Stop, because of a signal.
    case stop(signal: Int32)
    /// Reload the configuration.
    case reload
}

/// Detects changes of certificate files since its creation.
struct CertificateWatch {
    let paths: [String]
    let files: FileWatch

    /// Records the state of the files; to be created before they are read.
    init(_ certificates: [CertificateFiles]) {
        paths = certificates.flatMap { [$0.certificate, $0.key] }
        files = FileWatch(paths)
    }
}

/// The stream of control events: signals, and changes of the configuration file and the certificates.
final class ControlEvents: Sendable {
    private let events: AsyncStream<ControlEvent>
    private let continuation: AsyncStream<ControlEvent>.Continuation
    private let signals: AsyncStream<Int32>
    private let file: Watch?
    private let certificates = Mutex<(paths: [String], watch: Watch?)>(([], nil))
    /// Whether standard error was a terminal at the start.
    private let hadTerminal = isatty(STDERR_FILENO) == 1

    private typealias Watch = Task<Void, any Error>

    /// Installs the signal handlers and watches the file.
    ///
    /// To be created once per process, before the file is read.
    ///
    /// - Parameter file: The path of the configuration file, if there is one.
    init(file: String?) {
        signals = Signals.install()
        (events, continuation) = AsyncStream.makeStream(of: ControlEvent.self)
        self.file = file.map { [continuation] in Self.watch(FileWatch($0), continuation) }
    }

    /// Watches these certificate files instead of the previous ones.
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
        _ continuation: AsyncStream<ControlEvent>.Continuation
    ) -> Watch {
        Task {
            var watch = files
            while true {
                try await watch.change()
                continuation.yield(.reload)
            }
        }
    }

    /// The event that a signal stands for.
    ///
    /// Without files SIGHUP stops the broker. So it does when the terminal was closed: a broker that reloaded instead
    /// could no longer be stopped from there.
    private func event(for signal: Int32) -> ControlEvent {
        let hasFile = file != nil || certificates.withLock { $0.watch != nil }
        guard signal == SIGHUP, hasFile else { return .stop(signal: signal) }
        let hasLostTerminal = hadTerminal && isatty(STDERR_FILENO) != 1
        return hasLostTerminal ? .stop(signal: signal) : .reload
    }

    /// Handles events until one stops the broker.
    ///
    /// - Parameter reload: Reloads the configuration.
    /// - Returns: The signal that stopped the broker.
    func waitForStop(onReload reload: () async -> Void) async -> Int32 {
        let listening = Task {
            for await signal in signals { continuation.yield(event(for: signal)) }
        }
        defer {
            listening.cancel()
            file?.cancel()
            certificates.withLock { $0.watch?.cancel() }
        }
        for await event in events {
            switch event {
            case .reload: await reload()
            case .stop(let signal): return signal
            }
        }
        preconditionFailure("the control events ended without a stop")
    }
}

/// Replaces the configuration of a running broker, completely or not at all.
struct ConfigurationReload {
    let server: BrokerServer
    /// The log, whose level is part of the configuration.
    let log: QueuedLog
    /// Watches the new certificate files.
    let watch: (CertificateWatch) -> Void

    /// Reads the configuration and applies it; otherwise logs all faults.
    ///
    /// - Parameter read: Reads the configuration.
    func run(_ read: () throws(ConfigurationError) -> Configuration) async {
        let logger = log.logger(label: "broker")
        do throws(ConfigurationError) {
            let configuration = try read()
            // Before the broker reads the certificates, so that no change is missed.
            let certificates = CertificateWatch(configuration.certificates)
            try await server.reload(configuration) {
                watch(certificates)
                log.level = configuration.log.level
            }
        } catch {
            for fault in error.faults { logger.error("the configuration has a fault: \(fault)") }
            logger.error(
                "the configuration is not reloaded: the broker continues with the previous one"
            )
        }
    }
}
