public import Foundation

/// A delegate for the events of a connection, called on the main queue.
///
/// Every method is optional.
@preconcurrency @MainActor
public protocol PusherDelegate: AnyObject {
    /// Called with each log line, with its level as a prefix: `[PUSHER DEBUG] …`.
    func debugLog(message: String)
    /// Called when the connection's state has changed.
    func changedConnectionState(from old: ConnectionState, to new: ConnectionState)
    /// Called when the broker has confirmed a subscription.
    func subscribedToChannel(name: String)
    /// Called when the app's backend or the broker refuses a subscription.
    ///
    /// - Parameters:
    ///   - name: The channel's name.
    ///   - response: The backend's response, if any.
    ///   - data: The content of that response, or the broker's explanation.
    ///   - error: The error, with a description.
    func failedToSubscribeToChannel(
        name: String,
        response: URLResponse?,
        data: String?,
        error: NSError?
    )
    /// Called when an event could not be decrypted, even with a new key; the event is skipped.
    func failedToDecryptEvent(eventName: String, channelName: String, data: String?)
    /// Called when the broker reports an error.
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
    public func failedToSubscribeToChannel(
        name: String,
        response: URLResponse?,
        data: String?,
        error: NSError?
    ) {}
    /// Does nothing.
    public func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {}
    /// Does nothing.
    public func receivedError(error: PusherError) {}
}
