internal import FanfareClient
public import Foundation

/// A channel: where callbacks are bound to events.
open class PusherChannel: NSObject {
    /// The channel's name.
    public let name: String
    /// The channel's kind.
    public let type: PusherChannelType
    /// The connection, which is not kept alive.
    open weak var connection: PusherConnection?
    /// What lets the next subscription in; used once.
    public var auth: PusherAuth?
    /// How many connections are subscribed, where the broker tells.
    public var subscriptionCount: Int?
    /// Called with ``subscriptionCount`` when that has changed.
    open var onSubscriptionCountChanged: ((Int) -> Void)?
    private let subscribedByApp = Overwrite<Bool>()
    private let queue = ClientEventQueue()

    /// Makes a channel, which ``Pusher/subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)`` does
    /// for most apps.
    ///
    /// - Parameters:
    ///   - name: The channel's name.
    ///   - connection: The connection, which is not kept alive.
    ///   - auth: What lets the next subscription in.
    ///   - onSubscriptionCountChanged: Called when another number of connections is subscribed.
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
    /// What is set here is read here until the broker confirms again or the connection is lost; it subscribes to nothing.
    open var subscribed: Bool {
        get { subscribedByApp.value(or: connection?.client.channel(name).isSubscribed ?? false) }
        set { subscribedByApp.set(newValue) }
    }

    /// The callbacks, by event; those that are taken out are not called any more.
    open var eventHandlers: [String: [EventHandler]] {
        get { connection?.handlers.handlers(channel: name) ?? [:] }
        set { connection?.handlers.replace(channel: name, with: newValue) }
    }

    /// What was triggered and waits for the subscription, or for its turn; see ``trigger(eventName:data:)``.
    ///
    /// What is taken out is not sent any more, and what is put in is triggered.
    open var unsentEvents: [QueuedClientEvent] {
        get { queue.events(count: waitingCount) }
        set {
            connection?.client.dropClientEvents(of: name)
            queue.removeAll()
            for event in newValue { connection?.trigger(event, on: self) }
        }
    }

    // MARK: Callbacks

    /// Calls back with each event of a name.
    ///
    /// - Parameters:
    ///   - eventName: The event's name.
    ///   - eventCallback: Called on the main queue, in the order of the events.
    /// - Returns: What ``unbind(eventName:callbackId:)`` takes.
    @discardableResult
    open func bind(
        eventName: String,
        eventCallback: @escaping (PusherEvent) -> Void
    ) -> String {
        connection?.handlers.add(eventCallback, channel: name, event: eventName) ?? ""
    }

    /// Calls back with the data of each event of a name: parsed JSON, or else the text.
    ///
    /// - Parameters:
    ///   - eventName: The event's name.
    ///   - callback: Called on the main queue, in the order of the events.
    /// - Returns: What ``unbind(eventName:callbackId:)`` takes.
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

    /// Ends one binding; nothing is delivered to it once this returns on the main queue.
    open func unbind(eventName: String, callbackId: String) {
        connection?.handlers.remove(id: callbackId, channel: name, event: eventName)
    }

    /// Ends all bindings of the channel.
    open func unbindAll() { connection?.handlers.removeAll(channel: name) }

    /// Ends all bindings to events of a name.
    open func unbindAll(forEventName eventName: String) {
        connection?.handlers.removeAll(channel: name, event: eventName)
    }

    /// Calls those who are bound to an event; what arrives comes this way.
    open func handleEvent(event: PusherEvent) {
        connection?.handlers.deliver(event, on: name)
    }

    // MARK: Client events

    /// Sends an event to the others on a private or presence channel, as soon as that is subscribed to.
    ///
    /// What cannot be sent is told to ``PusherDelegate/debugLog(message:)``.
    ///
    /// - Parameters:
    ///   - eventName: The event's name, which begins with `client-`.
    ///   - data: What `JSONSerialization` can write.
    open func trigger(eventName: String, data: Any) {
        connection?.trigger(QueuedClientEvent(name: eventName, data: data), on: self)
    }

    /// An event has been queued in the client.
    func queued(_ event: QueuedClientEvent) { queue.append(event, count: waitingCount) }

    private var waitingCount: Int { connection?.client.waitingClientEventCount(of: name) ?? 0 }

    // MARK: What arrives, on the callbacks' queue

    func confirmed() {
        auth = nil
        subscribedByApp.clear()
    }

    func connectionChanged() { subscribedByApp.clear() }

    func countChanged(_ count: Int) {
        subscriptionCount = count
        onSubscriptionCountChanged?(count)
    }
}
