import Dispatch
import FanfareClient
import Foundation
import Logging

/// Notifies one client's delegate, on the main queue.
// SAFETY: the reference is only accessed under `lock`; the delegate is only called on the main queue.
final class DelegateNotifier: @unchecked Sendable {
    private let lock = NSLock()
    private weak var holder: (any PusherDelegate)?

    var delegate: (any PusherDelegate)? {
        get { lock.withLock { holder } }
        set { lock.withLock { holder = newValue } }
    }

    /// Calls the delegate; if this call is on the main queue, synchronously and in order with the callbacks.
    func notify(
        from queue: DispatchQueue,
        _ call: @escaping @MainActor @Sendable (any PusherDelegate) -> Void
    ) {
        @Sendable func perform() {
            MainActor.assumeIsolated { if let delegate = self.delegate { call(delegate) } }
        }
        if queue.isMain {
            perform()
        } else {
            DispatchQueue.main.async { perform() }
        }
    }

    /// Passes a log line to the delegate.
    func log(_ level: Logger.Level, _ line: String) {
        guard delegate != nil else { return }
        let name =
            switch level {
            case .trace, .debug: "DEBUG"
            case .info, .notice: "INFO"
            case .warning: "WARNING"
            case .error, .critical: "ERROR"
            }
        DispatchQueue.main.async {
            MainActor.assumeIsolated {
                self.delegate?.debugLog(message: "[PUSHER \(name)] \(line)")
            }
        }
    }

    /// A logger that passes its lines to the delegate.
    var logger: Logger {
        var logger = Logger(label: "PusherSwift") { _ in DelegateLogHandler(notifier: self) }
        logger.logLevel = .debug
        return logger
    }
}

/// Passes a client's log lines to its delegate.
private struct DelegateLogHandler: LogHandler {
    let notifier: DelegateNotifier
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { notifier.log(event.level, "\(event.message)") }
}
