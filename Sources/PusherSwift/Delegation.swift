import Dispatch
import Foundation
import Logging

/// Tells one client's delegate, on the main queue.
// SAFETY: the reference is only touched under `lock`; what it refers to is called on the main queue alone.
final class Delegation: @unchecked Sendable {
    private let lock = NSLock()
    private weak var holder: (any PusherDelegate)?

    var delegate: (any PusherDelegate)? {
        get { lock.withLock { holder } }
        set { lock.withLock { holder = newValue } }
    }

    /// Tells the delegate something.
    ///
    /// - Parameters:
    ///   - queue: Where this is called: on the main queue the delegate is told at once, in order with callbacks.
    ///   - call: What to tell.
    func tell(
        from queue: DispatchQueue,
        _ call: @escaping @MainActor @Sendable (any PusherDelegate) -> Void
    ) {
        @Sendable func tell() {
            MainActor.assumeIsolated { if let delegate = self.delegate { call(delegate) } }
        }
        if queue === DispatchQueue.main { tell() } else { DispatchQueue.main.async { tell() } }
    }

    /// Hands the delegate a line for its log.
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

    /// A logger whose lines go to the delegate.
    var logger: Logger {
        var logger = Logger(label: "PusherSwift") { _ in DelegateLogHandler(delegation: self) }
        logger.logLevel = .debug
        return logger
    }
}

/// Hands what a client logs to that client's delegate.
private struct DelegateLogHandler: LogHandler {
    let delegation: Delegation
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { delegation.log(event.level, "\(event.message)") }
}
