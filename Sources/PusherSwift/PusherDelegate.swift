public import Foundation

/// Is told what happens on a connection, on the main queue; every member is optional.
@preconcurrency @MainActor
public protocol PusherDelegate: AnyObject {
    /// A line for a log, with its level in front: `[PUSHER DEBUG] …`.
    func debugLog(message: String)
    /// The connection's state has changed.
    func changedConnectionState(from old: ConnectionState, to new: ConnectionState)
    /// The broker has confirmed a subscription.
    func subscribedToChannel(name: String)
    /// A channel cannot be subscribed to: the app's backend or the broker refuses it.
    ///
    /// - Parameters:
    ///   - name: The channel's name.
    ///   - response: What the backend has answered, if it has.
    ///   - data: The content of that answer, or the broker's explanation.
    ///   - error: What went wrong, in words.
    func failedToSubscribeToChannel(
        name: String,
        response: URLResponse?,
        data: String?,
        error: NSError?
    )
    /// An event of an encrypted channel could not be opened, also with a key that was just asked for; it is skipped.
    func failedToDecryptEvent(eventName: String, channelName: String, data: String?)
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
