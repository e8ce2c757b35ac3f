internal import FanfareClient
import Foundation

/// Is told what happens on a connection, on the main queue; every member is optional.
@preconcurrency @MainActor
public protocol PusherDelegate: AnyObject {
    /// A line for a log.
    func debugLog(message: String)
    /// The connection's state has changed.
    func changedConnectionState(from old: ConnectionState, to new: ConnectionState)
    /// The broker has confirmed a subscription.
    func subscribedToChannel(name: String)
    /// The broker reports a fault.
    func receivedError(error: PusherError)
}

extension PusherDelegate {
    /// Does nothing.
    public func debugLog(message: String) {}
    /// Does nothing.
    public func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {}
    /// Does nothing.
    public func subscribedToChannel(name: String) {}
    /// Does nothing.
    public func receivedError(error: PusherError) {}
}

/// Tells one client's delegate.
// SAFETY: the reference is only touched under `lock`; what it refers to is called on the main actor.
final class Delegation: @unchecked Sendable {
    private let lock = NSLock()
    private weak var holder: (any PusherDelegate)?

    var delegate: (any PusherDelegate)? {
        get { lock.withLock { holder } }
        set { lock.withLock { holder = newValue } }
    }

    /// Begins to tell what happens to a client.
    func observe(_ client: FanfareClient) {
        client.onStatusChange { old, new in
            self.delegate?.debugLog(message: "[PUSHER DEBUG] \(new)")
            let (old, new) = (ConnectionState(old), ConnectionState(new))
            if old != new { self.delegate?.changedConnectionState(from: old, to: new) }
        }
        client.bind("pusher:subscription_succeeded") { event in
            self.delegate?.subscribedToChannel(name: event.channel ?? "")
        }
        client.onError { error in
            self.delegate?.debugLog(message: "[PUSHER DEBUG] \(error)")
            guard case .reported(let code, let message) = error else { return }
            self.delegate?.receivedError(error: PusherError(code: code, message: message))
        }
    }
}
