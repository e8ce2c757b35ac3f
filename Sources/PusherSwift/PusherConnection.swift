public import FanfareClient
import FanfareEncryption
public import Foundation
import Logging

// `URLRequest`, `URLResponse` and `URLSession` are part of this API. On Apple platforms Foundation contains them. On
// other platforms this export provides them to an app that imports only PusherSwift.
#if canImport(FoundationNetworking)
    @_exported public import FoundationNetworking
#endif

/// The connection of a ``Pusher``.
///
/// ``connect()`` applies changed settings; they take effect at the next connection.
open class PusherConnection: NSObject {
    /// The app's public key.
    public let key: String
    /// The broker's URL, with `/app/` and the key.
    public let url: String
    /// The options.
    ///
    /// The current ``PusherClientOptions/authMethod`` is used each time a channel is authorised.
    open var options: PusherClientOptions
    /// The channels.
    open var channels = PusherChannels()
    /// The channel that receives the events of all channels.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open lazy var globalChannel: GlobalChannel! = GlobalChannel(connection: self)
    /// The session for authorisation requests.
    open var URLSession: URLSession
    /// Returns the member for presence channels, for ``AuthMethod/inline(secret:)``.
    ///
    /// Called on the callback queue.
    open var userDataFetcher: (() -> PusherPresenceChannelMember)?

    /// The most consecutive reconnection attempts; `nil` for no limit.
    open var reconnectAttemptsMax: Int?
    /// The number of reconnection attempts since the last connection.
    ///
    /// A value set by the app is returned until the next attempt; it does not change the delays.
    open var reconnectAttempts = 0
    /// The longest delay between two attempts, in seconds; `nil` for 30 seconds.
    open var maxReconnectGapInSeconds: Double? = 120
    /// The time limit for the pong, in seconds.
    open var pongResponseTimeoutInterval: TimeInterval = 30
    /// The idle time after which the client sends a ping, in seconds; the broker may request a shorter time.
    open var activityTimeoutInterval: TimeInterval

    /// The states of version 4 during a connection attempt; see `socketConnected`.
    let socketConnectedByApp = Override<Bool>()
    let establishedByApp = Override<Bool>()
    private let stateByApp = Override<ConnectionState>()
    private let socketIdByApp = Override<String?>()

    let handlers = EventHandlers()
    let outcomes = AuthOutcomes()
    let notifier = DelegateNotifier()
    /// The client that this connection wraps.
    let client: Fanfare
    /// The actor of the callback queue, on which all callbacks run in one order.
    let callbackActor: any Actor

    /// Creates a connection.
    ///
    /// Most apps use ``Pusher`` instead.
    ///
    /// - Parameters:
    ///   - key: The app's public key.
    ///   - socket: The transport that opens connections, in place of the official client's socket; `nil` for the
    ///     transport of ``PusherClientOptions/configure`` or the default.
    ///   - url: `ws://HOST[:PORT][/PREFIX]/app/KEY`, or `wss://…`; a query is ignored. It replaces the options' host,
    ///     port and path. Traps on a URL of another form.
    ///   - options: The client's settings.
    ///   - URLSession: The session for authorisation requests.
    public convenience init(
        key: String,
        socket: ClientTransport? = nil,
        url: String,
        options: PusherClientOptions,
        URLSession: URLSession = .shared
    ) {
        self.init(key: key, options: options, endpoint: BrokerURL(url, key).endpoint, socket)
        self.URLSession = URLSession
    }

    init(
        key: String,
        options: PusherClientOptions,
        endpoint: Endpoint,
        _ socket: ClientTransport? = nil
    ) {
        self.key = key
        self.options = options
        URLSession = .shared
        callbackActor = QueueActor.actor(on: options.callbackQueue)
        activityTimeoutInterval = options.activityTimeout ?? 60
        url = "\(endpoint)/app/\(key)"
        let authorization = Authorization()
        var clientOptions = ClientOptions()
        clientOptions.decrypter = SecretBoxDecrypter()
        clientOptions.logger = notifier.logger
        clientOptions.authorization.channels = ChannelAuthorizer { request, channel in
            try await authorization.authorize(channel, request.socketID)
        }
        options.configure(&clientOptions)
        if let socket { clientOptions.network.transport = socket }
        client = Fanfare(key: key, endpoint: endpoint, options: clientOptions)
        super.init()
        authorization.connection = self
        observe(client)
    }

    /// Disconnects, because the client would otherwise stay connected.
    deinit { client.disconnect() }

    /// The delegate, referenced weakly.
    open var delegate: (any PusherDelegate)? {
        get { notifier.delegate }
        set { notifier.delegate = newValue }
    }

    /// The state of the connection.
    ///
    /// A value set by the app is returned until the state changes; it neither connects nor disconnects.
    open var connectionState: ConnectionState {
        get { stateByApp.value(or: ConnectionState(client.status)) }
        set { stateByApp.set(newValue) }
    }

    /// The connection's socket ID; `nil` without a connection.
    ///
    /// A value set by the app is returned until the state changes; requests to a backend use the broker's socket ID.
    open var socketId: String? {
        get { socketIdByApp.value(or: client.socketID) }
        set { socketIdByApp.set(newValue) }
    }

    /// Removes the values set by the app, because the client has newer ones.
    func clearOverrides() {
        stateByApp.clear()
        socketIdByApp.clear()
        socketConnectedByApp.clear()
        establishedByApp.clear()
        for channel in channels.inOrder { channel.connectionChanged() }
    }

    /// Connects, and stays connected until ``disconnect()``.
    open func connect() {
        client.adjust { client in
            client.activityTimeout = .seconds(activityTimeoutInterval)
            client.pongTimeout = .seconds(pongResponseTimeoutInterval)
            client.reconnectAttemptCountMax = options.autoReconnect ? reconnectAttemptsMax : 0
            client.backoff = Backoff()
            if let gap = maxReconnectGapInSeconds {
                client.backoff.cap = max(.seconds(gap), client.backoff.floor)
            }
        }
        subscribeToAddedChannels()
        client.connect()
    }

    /// Closes the connection or stops the attempts to open one.
    open func disconnect() { client.disconnect() }

    /// Sends an event to the broker.
    ///
    /// A client event, whose name begins with `client-`, goes to the other subscribers of the channel, as in
    /// ``PusherChannel/trigger(eventName:data:)``. Any other event is sent to the broker as a message with this name
    /// and data. Errors are logged with ``PusherDelegate/debugLog(message:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - data: A value that `JSONSerialization` can encode.
    ///   - channel: The channel of a client event.
    open func sendEvent(event: String, data: Any, channel: PusherChannel? = nil) {
        guard event.utf8.starts(with: "client-".utf8) else { return sendMessage(event, data) }
        guard let channel else {
            return notifier.log(.warning, "\(event) was not sent: a client event needs a channel")
        }
        channel.trigger(eventName: event, data: data)
    }

    /// Calls the callbacks bound to an event.
    ///
    /// This method also delivers received events.
    open func handleEvent(event: PusherEvent) {
        if !Self.isChannelOnly(event.eventName) { handlers.deliverGlobally(event) }
        guard let name = event.channelName else { return }
        channels.find(name: name)?.handleEvent(event: event)
    }

    /// Reports an error of the broker to callbacks and the delegate.
    ///
    /// This method also delivers received errors.
    open func handleError(error: PusherError) {
        handlers.deliver(error)
        // SAFETY: an error is immutable.
        nonisolated(unsafe) let error = error
        notifier.notify(from: options.callbackQueue) { delegate in
            delegate.receivedError(error: error)
        }
    }

    /// Whether the official client does not deliver this protocol event to global callbacks.
    private static func isChannelOnly(_ name: String) -> Bool {
        ["pusher:member_added", "pusher:member_removed", "pusher:subscription_count"]
            .contains(name)
    }

    // MARK: Channels

    func subscribe(to channel: PusherChannel) {
        let name = channel.name
        let clientChannel = client.channel(name)
        if let presence = channel as? PusherPresenceChannel, presence.changes == nil {
            let reference = WeakConnection(self)
            presence.changes = client.onPresence(
                of: name,
                Callback(on: callbackActor) { change in
                    reference.connection?.channels.findPresence(name: name)?.update(change)
                }
            )
        }
        if let auth = channel.auth {
            clientChannel.subscribe(with: auth.authorization)
        } else {
            clientChannel.subscribe()
        }
    }

    /// Subscribes to channels that the app has added to ``channels``.
    func subscribeToAddedChannels() {
        for channel in channels.inOrder where !client.hasSubscription(to: channel.name) {
            subscribe(to: channel)
        }
    }

    func unsubscribe(from channel: PusherChannel) {
        client.channel(channel.name).unsubscribe()
        handlers.removeAll(channel: channel.name)
        (channel as? PusherPresenceChannel)?.changes?.cancel()
    }

    // MARK: Client events

    func trigger(_ event: QueuedClientEvent, on channel: PusherChannel) {
        guard let json = json(of: event.data, for: event.name) else { return }
        do throws(FanfareError) {
            let (_, isQueued) = try client.send(
                event.name,
                on: channel.name,
                json: Array(json.utf8)
            )
            if isQueued { channel.recordQueued(event) }
        } catch {
            notifier.log(.error, "\(error)")
        }
    }

    private func sendMessage(_ event: String, _ data: Any) {
        guard let json = json(of: data, for: event) else { return }
        if let reason = client.sendMessage(event, json: json) {
            notifier.log(.error, "\(event) was not sent: \(reason)")
        }
    }

    /// Returns data as JSON; logs an error if it cannot be encoded.
    private func json(of data: Any, for event: String) -> String? {
        // If this is false, `JSONSerialization` traps.
        guard JSONSerialization.isValidJSONObject([data]),
            let json = try? JSONSerialization.data(withJSONObject: data, options: .fragmentsAllowed)
        else {
            notifier.log(.error, "\(event) was not sent: its data cannot be encoded as JSON")
            return nil
        }
        return String(decoding: json, as: UTF8.self)
    }
}

/// A weak reference to a connection, for callbacks.
// SAFETY: it is only used on the callback queue.
struct WeakConnection: @unchecked Sendable {
    private(set) weak var connection: PusherConnection?

    init(_ connection: PusherConnection) { self.connection = connection }
}
