internal import FanfareClient
public import Foundation

/// A channel: where callbacks are bound to events.
open class PusherChannel: NSObject {
    /// The channel's name.
    public let name: String
    /// The channel's kind.
    public let type: PusherChannelType
    private let channel: Channel
    private let handlers: EventHandlers
    private let payload: LegacyPayload

    init(_ channel: Channel, _ handlers: EventHandlers, _ payload: LegacyPayload) {
        name = channel.name
        type = PusherChannelType(name: channel.name)
        self.channel = channel
        self.handlers = handlers
        self.payload = payload
    }

    /// Whether the broker has confirmed the subscription.
    open var subscribed: Bool { channel.isSubscribed }

    /// The callbacks, by event.
    open var eventHandlers: [String: [EventHandler]] { handlers.handlers(channel: name) }

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
        handlers.add(eventCallback, channel: name, event: eventName)
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
        let payload = payload
        return handlers.add(
            { callback(payload.value(of: $0.data)) },
            channel: name,
            event: eventName
        )
    }

    /// Ends one binding; nothing is delivered to it once this returns on the main queue.
    open func unbind(eventName: String, callbackId: String) {
        handlers.remove(id: callbackId, channel: name, event: eventName)
    }

    /// Ends all bindings of the channel.
    open func unbindAll() { handlers.removeAll(channel: name) }

    /// Ends all bindings to events of a name.
    open func unbindAll(forEventName eventName: String) {
        handlers.removeAll(channel: name, event: eventName)
    }
}

/// The kind of a channel, by its name.
public enum PusherChannelType: Sendable {
    /// For those whom the app's backend lets in.
    case `private`
    /// The same, with a list of who is there.
    case presence
    /// For everybody.
    case normal

    /// What the name says before its first hyphen.
    public init(name: String) {
        self = PusherChannelType.type(forName: name)
    }

    /// The kind of the channel of this name.
    public static func type(forName name: String) -> PusherChannelType {
        guard name.contains("-") else { return .normal }
        switch name.prefix(while: { $0 != "-" }) {
        case "private": return .private
        case "presence": return .presence
        default: return .normal
        }
    }

    /// Whether a channel of this name has a list of who is there.
    public static func isPresenceChannel(name: String) -> Bool {
        type(forName: name) == .presence
    }
}

/// The channels of a client that were subscribed to and not unsubscribed from.
open class PusherChannels: NSObject {
    private let lock = NSLock()
    private var table: [String: PusherChannel] = [:]

    /// The channels by name.
    open var channels: [String: PusherChannel] { lock.withLock { table } }

    /// The channel of this name, if there is one.
    open func find(name: String) -> PusherChannel? { lock.withLock { table[name] } }

    func findOrAdd(_ name: String, _ make: () -> PusherChannel) -> PusherChannel {
        lock.withLock {
            if let known = table[name] { return known }
            let new = make()
            table[name] = new
            return new
        }
    }

    func remove(_ name: String) -> PusherChannel? {
        lock.withLock { table.removeValue(forKey: name) }
    }
}
