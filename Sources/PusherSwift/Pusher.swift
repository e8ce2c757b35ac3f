internal import FanfareClient
public import Foundation

/// A client with the API of the official PusherSwift.
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
/// Keep a reference to it; it disconnects when it is deallocated.
open class Pusher: NSObject {
    /// The connection.
    public let connection: PusherConnection

    /// Creates a client; it does nothing before ``connect()``.
    ///
    /// - Parameters:
    ///   - key: The app's public key.
    ///   - options: The broker's address and the client's settings.
    public init(key: String, options: PusherClientOptions = PusherClientOptions()) {
        connection = PusherConnection(
            key: key,
            options: options,
            endpoint: BrokerURL(options).endpoint
        )
    }

    /// The delegate, referenced weakly.
    open var delegate: (any PusherDelegate)? {
        get { connection.delegate }
        set { connection.delegate = newValue }
    }

    // MARK: Connection

    /// Connects, and stays connected until ``disconnect()``.
    open func connect() { connection.connect() }

    /// Closes the connection or stops the attempts to open one.
    open func disconnect() { connection.disconnect() }

    // MARK: Channels

    /// Subscribes to a channel now or when the client connects.
    ///
    /// - Parameters:
    ///   - channelName: The channel's name; a name that begins with `presence-` creates a ``PusherPresenceChannel``.
    ///   - auth: A signature for the current connection; `nil` uses ``PusherClientOptions/authMethod``.
    ///   - onMemberAdded: Called for each user who joins a presence channel.
    ///   - onMemberRemoved: Called for each user who leaves it.
    ///   - onSubscriptionCountChanged: Called when the number of subscribed connections changes.
    /// - Returns: The channel; the same object for each call with this name.
    @discardableResult
    open func subscribe(
        _ channelName: String,
        auth: PusherAuth? = nil,
        onMemberAdded: ((PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: ((PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: ((Int) -> Void)? = nil
    ) -> PusherChannel {
        guard PusherChannelType.isPresenceChannel(name: channelName) else {
            return subscribe(channelName, auth) {
                PusherChannel(
                    name: channelName,
                    connection: connection,
                    onSubscriptionCountChanged: onSubscriptionCountChanged
                )
            }
        }
        return subscribe(channelName, auth) {
            PusherPresenceChannel(
                name: channelName,
                connection: connection,
                onMemberAdded: onMemberAdded,
                onMemberRemoved: onMemberRemoved,
                onSubscriptionCountChanged: onSubscriptionCountChanged
            )
        }
    }

    /// Subscribes to a channel; see ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``.
    @discardableResult
    open func subscribe(
        channelName: String,
        auth: PusherAuth? = nil,
        onMemberAdded: ((PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: ((PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: ((Int) -> Void)? = nil
    ) -> PusherChannel {
        subscribe(
            channelName,
            auth: auth,
            onMemberAdded: onMemberAdded,
            onMemberRemoved: onMemberRemoved,
            onSubscriptionCountChanged: onSubscriptionCountChanged
        )
    }

    /// Subscribes to a presence channel now or when the client connects.
    ///
    /// - Parameters:
    ///   - channelName: The channel's name, which must begin with `presence-`.
    ///   - auth: A signature for the current connection; `nil` uses ``PusherClientOptions/authMethod``.
    ///   - onMemberAdded: Called for each user who joins.
    ///   - onMemberRemoved: Called for each user who leaves.
    ///   - onSubscriptionCountChanged: Called when the number of subscribed connections changes.
    /// - Returns: The channel; the same object for each call with this name.
    @discardableResult
    open func subscribeToPresenceChannel(
        channelName: String,
        auth: PusherAuth? = nil,
        onMemberAdded: ((PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: ((PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: ((Int) -> Void)? = nil
    ) -> PusherPresenceChannel {
        let channel = subscribe(
            channelName,
            auth: auth,
            onMemberAdded: onMemberAdded,
            onMemberRemoved: onMemberRemoved,
            onSubscriptionCountChanged: onSubscriptionCountChanged
        )
        guard let presence = channel as? PusherPresenceChannel else {
            preconditionFailure(
                "\(channelName) is not a presence channel: its name must begin with presence-"
            )
        }
        return presence
    }

    private func subscribe(
        _ name: String,
        _ auth: PusherAuth?,
        _ make: () -> PusherChannel
    ) -> PusherChannel {
        let channel = connection.channels.findOrAdd(name, make)
        if let auth { channel.auth = auth }
        connection.subscribe(to: channel)
        return channel
    }

    /// Unsubscribes from a channel, even if its subscription is not confirmed yet.
    open func unsubscribe(_ channelName: String) {
        guard let channel = connection.channels.remove(channelName) else { return }
        connection.unsubscribe(from: channel)
    }

    /// Unsubscribes from all channels.
    open func unsubscribeAll() {
        for name in connection.channels.channels.keys { unsubscribe(name) }
    }

    // MARK: Global bindings

    /// Calls `eventCallback` with each event of every channel.
    ///
    /// - Parameter eventCallback: Called on the callback queue, in the order of the events.
    /// - Returns: The ID for ``unbind(callbackId:)``.
    @discardableResult
    open func bind(eventCallback: @escaping (PusherEvent) -> Void) -> String {
        connection.handlers.addGlobal(eventCallback)
    }

    /// Calls `callback` with each event of every channel, and with each error that the broker reports.
    ///
    /// An event is a dictionary of `event`, `channel` and `data`; an error is the event `pusher:error`.
    ///
    /// - Parameter callback: Called on the callback queue. The data is text; for an error, a dictionary.
    /// - Returns: The ID for ``unbind(callbackId:)``.
    @_disfavoredOverload
    @discardableResult
    open func bind(_ callback: @escaping (Any?) -> Void) -> String {
        let payload = LegacyPayload(attemptsJSON: connection.options.attemptToReturnJSONObject)
        return connection.handlers.addGlobal(
            { callback(payload.members(of: $0)) },
            errors: { callback(payload.members(of: $0)) }
        )
    }

    /// Ends one global binding.
    open func unbind(callbackId: String) { connection.handlers.removeGlobal(id: callbackId) }

    /// Ends all global bindings.
    open func unbindAll() { connection.handlers.removeGlobal() }
}
