internal import FanfareClient
public import Foundation

/// A client with the interface of the official PusherSwift.
///
/// ```swift
/// let pusher = Pusher(
///     key: "app-key",
///     options: PusherClientOptions(host: .host("127.0.0.1"), port: 6001, useTLS: false))
/// let channel = pusher.subscribe("userslist")
/// let _ = channel.bind(eventName: "addUser", callback: { (data: Any?) -> Void in
///     if let data = data as? [String: AnyObject] { print(data["name"] as? String ?? "") }
/// })
/// pusher.connect()
/// ```
///
/// Keep it as long as events are wanted: it disconnects when it is let go of.
open class Pusher: NSObject {
    /// The connection.
    public let connection: PusherConnection
    private let handlers = EventHandlers()
    private let payload: LegacyPayload

    /// Makes a client; nothing happens before ``connect()``.
    ///
    /// - Parameters:
    ///   - key: The app's public key.
    ///   - options: Where the broker is.
    public init(key: String, options: PusherClientOptions = PusherClientOptions()) {
        connection = PusherConnection(key: key, options: options)
        payload = LegacyPayload(attemptsJSON: options.attemptToReturnJSONObject)
        super.init()
        connection.client.bind(on: options.callbackQueue) { [handlers] in handlers.deliver($0) }
    }

    /// Who is told what happens; not kept alive.
    open var delegate: (any PusherDelegate)? {
        get { connection.delegate }
        set { connection.delegate = newValue }
    }

    // MARK: Connection

    /// Connects, and stays connected until ``disconnect()``.
    open func connect() { connection.connect() }

    /// Ends the connection, or any attempt at one, for good.
    open func disconnect() { connection.disconnect() }

    // MARK: Channels

    /// Subscribes to a channel, now or as soon as the client is connected.
    ///
    /// - Parameter channelName: The channel's name.
    /// - Returns: The channel; the same one each time.
    @discardableResult
    open func subscribe(_ channelName: String) -> PusherChannel {
        let channel = connection.channels.findOrAdd(channelName) {
            PusherChannel(connection.client.channel(channelName), handlers, payload)
        }
        connection.client.subscribe(channelName)
        return channel
    }

    /// Subscribes to a channel, as ``subscribe(_:)`` does.
    @discardableResult
    open func subscribe(channelName: String) -> PusherChannel { subscribe(channelName) }

    /// Unsubscribes from a channel, also from one whose subscription is not confirmed yet.
    open func unsubscribe(_ channelName: String) {
        guard connection.channels.remove(channelName) != nil else { return }
        connection.client.unsubscribe(channelName)
        handlers.removeAll(channel: channelName)
    }

    /// Unsubscribes from all channels.
    open func unsubscribeAll() {
        for name in connection.channels.channels.keys { unsubscribe(name) }
    }

    // MARK: Global bindings

    /// Calls back with each event of every channel.
    ///
    /// - Parameter eventCallback: Called on the main queue, in the order of the events.
    /// - Returns: What ``unbind(callbackId:)`` takes.
    @discardableResult
    open func bind(eventCallback: @escaping (PusherEvent) -> Void) -> String {
        handlers.addGlobal(eventCallback)
    }

    /// Calls back with each event of every channel: a dictionary of `event`, `channel` and `data`.
    ///
    /// - Parameter callback: Called on the main queue; the data is text.
    /// - Returns: What ``unbind(callbackId:)`` takes.
    @_disfavoredOverload
    @discardableResult
    open func bind(_ callback: @escaping (Any?) -> Void) -> String {
        let payload = payload
        return handlers.addGlobal { callback(payload.members(of: $0)) }
    }

    /// Ends one global binding.
    open func unbind(callbackId: String) { handlers.removeGlobal(id: callbackId) }

    /// Ends all global bindings.
    open func unbindAll() { handlers.removeGlobal() }
}
