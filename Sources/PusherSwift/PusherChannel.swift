internal import FanfareClient
public import Foundation

/// A channel; binds callbacks to its events.
open class PusherChannel: NSObject {
    /// The channel's name.
    public let name: String
    /// The channel's kind.
    public let type: PusherChannelType
    /// The connection, referenced weakly.
    open weak var connection: PusherConnection?
    /// A signature for the next subscription; used once.
    public var auth: PusherAuth?
    /// The number of subscribed connections, if the broker reports it.
    public var subscriptionCount: Int?
    /// Called with each new ``subscriptionCount``.
    open var onSubscriptionCountChanged: ((Int) -> Void)?
    private let subscribedByApp = Override<Bool>()
    private let queue = ClientEventQueue()

    /// Creates a channel.
    ///
    /// Most apps call ``Pusher/subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)`` instead.
    ///
    /// - Parameters:
    ///   - name: The channel's name.
    ///   - connection: The connection, referenced weakly.
    ///   - auth: A signature for the next subscription.
    ///   - onSubscriptionCountChanged: Called when the number of subscribed connections changes.
    public init(
        name: String,
        connection: PusherConnection,
        auth: PusherAuth? = nil,
        onSubscriptionCountChanged: ((Int) -> Void)? = nil
    ) {
        self.name = name
        type = PusherChannelType(name: name)
        self.connection = connection
        self.auth = auth
        self.onSubscriptionCountChanged = onSubscriptionCountChanged
    }

    /// Whether the broker has confirmed the subscription.
    ///
    /// A value set by the app is returned until the broker confirms again or the connection changes. Setting it does
    /// not subscribe.
    open var subscribed: Bool {
        get { subscribedByApp.value(or: connection?.client.channel(name).isSubscribed ?? false) }
        set { subscribedByApp.set(newValue) }
    }

    /// The callbacks by event.
    ///
    /// Callbacks that the app removes are no longer called.
    open var eventHandlers: [String: [EventHandler]] {
        get { connection?.handlers.handlers(channel: name) ?? [:] }
        set { connection?.handlers.replace(channel: name, with: newValue) }
    }

    /// The triggered events that wait for the subscription or the rate limit; see ``trigger(eventName:data:)``.
    ///
    /// Events that the app removes are not sent; events that it adds are triggered.
    open var unsentEvents: [QueuedClientEvent] {
        get { queue.events(count: queuedCount) }
        set {
            connection?.client.dropClientEvents(of: name)
            queue.removeAll()
            for event in newValue { connection?.trigger(event, on: self) }
        }
    }

    // MARK: Callbacks

    /// Calls `eventCallback` with each event with this name.
    ///
    /// - Parameters:
    ///   - eventName: The event's name.
    ///   - eventCallback: Called on the callback queue, in the order of the events.
    /// - Returns: The ID for ``unbind(eventName:callbackId:)``.
    @discardableResult
    open func bind(
        eventName: String,
        eventCallback: @escaping (PusherEvent) -> Void
    ) -> String {
        connection?.handlers.add(eventCallback, channel: name, event: eventName) ?? ""
    }

    /// Calls `callback` with the data of each event with this name: parsed JSON, otherwise text.
    ///
    /// - Parameters:
    ///   - eventName: The event's name.
    ///   - callback: Called on the callback queue, in the order of the events.
    /// - Returns: The ID for ``unbind(eventName:callbackId:)``.
    @_disfavoredOverload
    @discardableResult
    open func bind(eventName: String, callback: @escaping (Any?) -> Void) -> String {
        let payload = LegacyPayload(
            attemptsJSON: connection?.options.attemptToReturnJSONObject ?? true
        )
        return connection?.handlers.add(
            { callback(payload.value(of: $0.data)) },
            channel: name,
            event: eventName
        ) ?? ""
    }

    /// Ends one binding.
    ///
    /// If this is called on the callback queue, the callback is not called after it returns.
    open func unbind(eventName: String, callbackId: String) {
        connection?.handlers.remove(id: callbackId, channel: name, event: eventName)
    }

    /// Ends all bindings of the channel.
    open func unbindAll() { connection?.handlers.removeAll(channel: name) }

    /// Ends all bindings to events with this name.
    open func unbindAll(forEventName eventName: String) {
        connection?.handlers.removeAll(channel: name, event: eventName)
    }

    /// Calls the callbacks bound to an event.
    ///
    /// This method also delivers received events.
    open func handleEvent(event: PusherEvent) {
        connection?.handlers.deliver(event, on: name)
    }

    // MARK: Client events

    /// Sends an event to the other subscribers of a private or presence channel, once the channel is subscribed.
    ///
    /// Errors are logged with ``PusherDelegate/debugLog(message:)``.
    ///
    /// - Parameters:
    ///   - eventName: The event's name, which begins with `client-`.
    ///   - data: A value that `JSONSerialization` can encode.
    open func trigger(eventName: String, data: Any) {
        connection?.trigger(QueuedClientEvent(name: eventName, data: data), on: self)
    }

    /// Records an event that the client has queued.
    func recordQueued(_ event: QueuedClientEvent) { queue.append(event, count: queuedCount) }

    private var queuedCount: Int { connection?.client.queuedClientEventCount(of: name) ?? 0 }

    // MARK: Received messages, on the callback queue

    func subscriptionConfirmed() {
        auth = nil
        subscribedByApp.clear()
    }

    func connectionChanged() { subscribedByApp.clear() }

    func countChanged(_ count: Int) {
        subscriptionCount = count
        onSubscriptionCountChanged?(count)
    }
}

/// The type of a channel, by its name.
public enum PusherChannelType: Sendable {
    /// A channel that requires authorisation.
    case `private`
    /// A private channel with a list of members.
    case presence
    /// A public channel.
    case normal

    /// Creates the type from the part of the name before its first hyphen.
    public init(name: String) {
        self = PusherChannelType.type(forName: name)
    }

    /// Returns the type of the channel with this name.
    public static func type(forName name: String) -> PusherChannelType {
        guard name.contains("-") else { return .normal }
        switch name.prefix(while: { $0 != "-" }) {
        case "private": return .private
        case "presence": return .presence
        default: return .normal
        }
    }

    /// Whether the channel with this name is a presence channel.
    public static func isPresenceChannel(name: String) -> Bool {
        type(forName: name) == .presence
    }
}
