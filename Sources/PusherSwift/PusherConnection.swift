internal import FanfareClient
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
    /// The broker's URL.
    public let url: String
    /// The options that the client was made with; its ``PusherClientOptions/authMethod`` counts whenever a channel is
    /// authorised.
    open var options: PusherClientOptions
    /// The channels.
    open var channels = PusherChannels()
    /// The channel of all channels.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open private(set) lazy var globalChannel: GlobalChannel! = GlobalChannel(connection: self)
    #if canImport(FoundationNetworking)
        /// What carries the requests that authorise this client.
        open var URLSession: FoundationNetworking.URLSession
    #else
        /// What carries the requests that authorise this client.
        open var URLSession: Foundation.URLSession
    #endif
    /// Says who joins a presence channel, with ``AuthMethod/inline(secret:)``; called on the callbacks' queue.
    open var userDataFetcher: (() -> PusherPresenceChannelMember)?

    /// How often a lost connection is tried again before that is given up; `nil` for as often as it takes.
    open var reconnectAttemptsMax: Int?
    /// How often that has been tried since the last connection.
    open internal(set) var reconnectAttempts = 0
    /// The longest pause between two attempts, in seconds; `nil` for that of the client, half a minute.
    open var maxReconnectGapInSeconds: Double? = 120
    /// How long the answer to a ping may take, in seconds.
    open var pongResponseTimeoutInterval: TimeInterval = 30
    /// Silence after which the broker is asked for a sign of life, in seconds; it may ask for fewer.
    open var activityTimeoutInterval: TimeInterval

    let handlers = EventHandlers()
    let outcomes = AuthOutcomes()
    let delegation = Delegation()
    /// The client underneath.
    let client: FanfareClient

    init(key: String, options: PusherClientOptions) {
        self.key = key
        self.options = options
        URLSession = .shared
        activityTimeoutInterval = options.activityTimeout ?? 60
        let port = UInt16(clamping: options.port)
        let path = options.path ?? ""
        let endpoint: Endpoint =
            options.useTLS
            ? .secure(host: options.host, port: port, pathPrefix: path)
            : .plain(host: options.host, port: port, pathPrefix: path)
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
    open var connectionState: ConnectionState { ConnectionState(client.status) }

    /// What the broker calls the connection; `nil` without one.
    open var socketId: String? { client.socketID }

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
        client.connect()
    }

    /// Ends the connection, or any attempt at one, for good.
    open func disconnect() { client.disconnect() }

    /// Sends an event to the broker.
    ///
    /// - Parameters:
    ///   - event: The event's name: that of a client event, which begins with `client-`.
    ///   - data: What `JSONSerialization` can write.
    ///   - channel: The channel that it goes to.
    open func sendEvent(event: String, data: Any, channel: PusherChannel? = nil) {
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

    func unsubscribe(from channel: PusherChannel) {
        client.unsubscribe(channel.name)
        handlers.removeAll(channel: channel.name)
        (channel as? PusherPresenceChannel)?.changes?.unbind()
    }

    // MARK: Client events

    func trigger(_ event: QueuedClientEvent, on channel: PusherChannel) {
        let data = try? JSONSerialization.data(
            withJSONObject: event.data,
            options: .fragmentsAllowed
        )
        guard Self.isJSON(event.data), let data else {
            let reason = "its data cannot be written as JSON"
            return delegation.log(.error, "\(event.name) is not sent: \(reason)")
        }
        do throws(FanfareError) {
            let json = String(decoding: data, as: UTF8.self)
            let delivery = try client.channel(channel.name).trigger(event.name, json: json)
            if delivery == .queued { channel.unsentEvents.append(event) }
        } catch {
            delegation.log(.error, "\(error)")
        }
    }

    /// `JSONSerialization` traps where this is false.
    private static func isJSON(_ value: Any) -> Bool {
        JSONSerialization.isValidJSONObject([value])
    }
}

/// A connection that is not kept alive by what happens on it.
// SAFETY: it is followed on the callbacks' queue alone.
struct Reference: @unchecked Sendable {
    private(set) weak var connection: PusherConnection?

    init(_ connection: PusherConnection) { self.connection = connection }
}
