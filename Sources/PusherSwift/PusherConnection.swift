public import FanfareClient
public import Foundation
import Logging

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// The connection of a ``Pusher``.
///
/// What is set here is taken up by ``connect()``, and holds from the next connection on.
open class PusherConnection: NSObject {
    /// The app's public key.
    public let key: String
    /// The broker's URL, with `/app/` and the key.
    public let url: String
    /// The options that the client was made with; its ``PusherClientOptions/authMethod`` counts whenever a channel is
    /// authorised.
    open var options: PusherClientOptions
    /// The channels.
    open var channels = PusherChannels()
    /// The channel of all channels.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open lazy var globalChannel: GlobalChannel! = GlobalChannel(connection: self)
    /// What carries the requests that authorise this client.
    open var URLSession: URLSession
    /// Says who joins a presence channel, with ``AuthMethod/inline(secret:)``; called on the callbacks' queue.
    open var userDataFetcher: (() -> PusherPresenceChannelMember)?

    /// How often a lost connection is tried again before that is given up; `nil` for as often as it takes.
    open var reconnectAttemptsMax: Int?
    /// How often that has been tried since the last connection.
    ///
    /// What is set here is read here until the next attempt; how long the client waits is its own count.
    open var reconnectAttempts = 0
    /// The longest pause between two attempts, in seconds; `nil` for that of the client, half a minute.
    open var maxReconnectGapInSeconds: Double? = 120
    /// How long the answer to a ping may take, in seconds.
    open var pongResponseTimeoutInterval: TimeInterval = 30
    /// Silence after which the broker is asked for a sign of life, in seconds; it may ask for fewer.
    open var activityTimeoutInterval: TimeInterval

    /// What version 4 told apart on the way to a connection; see `socketConnected`.
    let socketConnectedByApp = Overwrite<Bool>()
    let establishedByApp = Overwrite<Bool>()
    private let stateByApp = Overwrite<ConnectionState>()
    private let socketIdByApp = Overwrite<String?>()

    let handlers = EventHandlers()
    let outcomes = AuthOutcomes()
    let delegation = Delegation()
    /// The client underneath.
    let client: FanfareClient

    /// Makes a connection of its own, which ``Pusher`` does for most apps.
    ///
    /// - Parameters:
    ///   - key: The app's public key.
    ///   - socket: What carries the connection: no socket, as it was once, but what opens one, and opens the next.
    ///     `nil` for that of the options, which is the client's own unless ``PusherClientOptions/configure`` says else.
    ///   - url: `ws://HOST[:PORT][/PREFIX]/app/KEY`, or `wss://…`; a query is ignored. It counts, and not the host, port
    ///     and path of the options. A URL of another form ends the program.
    ///   - options: How the client behaves.
    ///   - URLSession: What carries the requests that authorise this client.
    public convenience init(
        key: String,
        socket: (any ClientTransport)? = nil,
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
        _ socket: (any ClientTransport)? = nil
    ) {
        self.key = key
        self.options = options
        URLSession = .shared
        activityTimeoutInterval = options.activityTimeout ?? 60
        url = "\(endpoint)/app/\(key)"
        let authorization = Authorization()
        var clientOptions = ClientOptions()
        clientOptions.reconnects = options.autoReconnect
        clientOptions.decrypter = EncryptedChannels.decrypter
        clientOptions.logger = delegation.logger
        clientOptions.channelAuthorizer = ChannelAuthorizer { request, channel in
            try await authorization.answer(channel, request.socketID)
        }
        options.configure(&clientOptions)
        if let socket { clientOptions.transport = socket }
        client = FanfareClient(key: key, endpoint: endpoint, options: clientOptions)
        super.init()
        authorization.connection = self
        observe(client)
    }

    /// A client that nobody holds any more has nobody to call back.
    deinit { client.disconnect() }

    /// Who is told what happens.
    open var delegate: (any PusherDelegate)? {
        get { delegation.delegate }
        set { delegation.delegate = newValue }
    }

    /// Where the connection stands.
    ///
    /// What is set here is read here until the state changes; it neither connects nor disconnects.
    open var connectionState: ConnectionState {
        get { stateByApp.value(or: ConnectionState(client.status)) }
        set { stateByApp.set(newValue) }
    }

    /// What the broker calls the connection; `nil` without one.
    ///
    /// What is set here is read here until the state changes; requests to a backend name the broker's.
    open var socketId: String? {
        get { socketIdByApp.value(or: client.socketID) }
        set { socketIdByApp.set(newValue) }
    }

    /// The client knows something newer than what the app has set.
    func forgetWhatTheAppHasSet() {
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
            client.reconnectAttemptCountMax = reconnectAttemptsMax
            client.backoff = Backoff()
            if let gap = maxReconnectGapInSeconds {
                client.backoff.cap = max(.seconds(gap), client.backoff.floor)
            }
        }
        subscribeToWhatTheAppHasAdded()
        client.connect()
    }

    /// Ends the connection, or any attempt at one, for good.
    open func disconnect() { client.disconnect() }

    /// Sends an event to the broker.
    ///
    /// An event of a client, whose name begins with `client-`, goes to the others on the channel, as with
    /// ``PusherChannel/trigger(eventName:data:)``. Any other is a message to the broker itself, which is sent on the present
    /// connection with the name and the data alone. What cannot be sent is told to ``PusherDelegate/debugLog(message:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - data: What `JSONSerialization` can write.
    ///   - channel: The channel that an event of a client goes to.
    open func sendEvent(event: String, data: Any, channel: PusherChannel? = nil) {
        guard event.utf8.starts(with: "client-".utf8) else { return say(event, data) }
        guard let channel else {
            return delegation.log(.warning, "\(event) is not sent: it is for no channel")
        }
        channel.trigger(eventName: event, data: data)
    }

    /// Calls those who are bound to an event; what arrives comes this way.
    open func handleEvent(event: PusherEvent) {
        if !Self.isForItsChannelAlone(event.eventName) { handlers.deliverGlobally(event) }
        guard let name = event.channelName else { return }
        channels.find(name: name)?.handleEvent(event: event)
    }

    /// Tells of a fault that the broker reports; what arrives comes this way.
    open func handleError(error: PusherError) {
        handlers.deliver(error)
        // SAFETY: nobody changes a fault.
        nonisolated(unsafe) let error = error
        delegation.tell(from: options.callbackQueue) { delegate in
            delegate.receivedError(error: error)
        }
    }

    /// Events of the protocol that the official client does not hand to global callbacks.
    private static func isForItsChannelAlone(_ name: String) -> Bool {
        ["pusher:member_added", "pusher:member_removed", "pusher:subscription_count"]
            .contains(name)
    }

    // MARK: Channels

    func subscribe(to channel: PusherChannel) {
        let name = channel.name
        let inner = client.channel(name)
        if let presence = channel as? PusherPresenceChannel, presence.changes == nil {
            let reference = Reference(self)
            presence.changes = inner.presence.onChange(on: options.callbackQueue) { change in
                reference.connection?.channels.findPresence(name: name)?.changed(change)
            }
        }
        if let auth = channel.auth {
            inner.subscribe(with: auth.authorization)
        } else {
            inner.subscribe()
        }
    }

    /// Subscribes to channels that were made by the app and put into ``channels``.
    func subscribeToWhatTheAppHasAdded() {
        for channel in channels.inOrder where !client.isAskedFor(channel.name) {
            subscribe(to: channel)
        }
    }

    func unsubscribe(from channel: PusherChannel) {
        client.unsubscribe(channel.name)
        handlers.removeAll(channel: channel.name)
        (channel as? PusherPresenceChannel)?.changes?.unbind()
    }

    // MARK: Client events

    func trigger(_ event: QueuedClientEvent, on channel: PusherChannel) {
        guard let json = json(of: event.data, for: event.name) else { return }
        do throws(FanfareError) {
            let delivery = try client.channel(channel.name).trigger(event.name, json: json)
            if delivery == .queued { channel.queued(event) }
        } catch {
            delegation.log(.error, "\(error)")
        }
    }

    private func say(_ event: String, _ data: Any) {
        guard let json = json(of: data, for: event) else { return }
        if let reason = client.say(event, json: json) {
            delegation.log(.error, "\(event) is not sent: \(reason)")
        }
    }

    /// Data as JSON; what cannot be written so is logged.
    private func json(of data: Any, for event: String) -> String? {
        // `JSONSerialization` traps where this is false.
        guard JSONSerialization.isValidJSONObject([data]),
            let json = try? JSONSerialization.data(withJSONObject: data, options: .fragmentsAllowed)
        else {
            delegation.log(.error, "\(event) is not sent: its data cannot be written as JSON")
            return nil
        }
        return String(decoding: json, as: UTF8.self)
    }
}

/// A connection that is not kept alive by what happens on it.
// SAFETY: it is followed on the callbacks' queue alone.
struct Reference: @unchecked Sendable {
    private(set) weak var connection: PusherConnection?

    init(_ connection: PusherConnection) { self.connection = connection }
}
