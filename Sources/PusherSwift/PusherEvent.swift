internal import FanfareClient
public import Foundation

/// An event, as callbacks of the newer spelling get it.
open class PusherEvent: NSObject, NSCopying {
    /// The event's name.
    public let eventName: String
    /// The channel's name; `nil` for an event of the connection.
    public let channelName: String?
    /// The data as text, usually JSON that the app decodes; on an encrypted channel it is decrypted.
    public let data: String?
    /// The sender of a client event on a presence channel.
    public let userId: String?

    init(eventName: String, channelName: String?, data: String?, userId: String? = nil) {
        self.eventName = eventName
        self.channelName = channelName
        self.data = data
        self.userId = userId
    }

    convenience init(_ event: ChannelEvent) {
        self.init(
            eventName: event.name,
            channelName: event.channel,
            data: event.data,
            userId: event.userID
        )
    }

    /// A copy of the event.
    open func copy(with zone: NSZone? = nil) -> Any { copied() }

    func copied() -> PusherEvent {
        PusherEvent(eventName: eventName, channelName: channelName, data: data, userId: userId)
    }

    /// The value of one of the event's members, by the name that it has on the wire.
    open func property(withKey key: String) -> Any? {
        switch key {
        case "event": eventName
        case "channel": channelName
        case "data": data
        case "user_id": userId
        default: nil
        }
    }
}

/// A fault that the broker reports.
open class PusherError: NSObject {
    /// A code of the protocol, if the broker gives one.
    public let code: Int?
    /// A text for people.
    public let message: String

    init(code: Int?, message: String) {
        self.code = code
        self.message = message
    }

    /// Code and text.
    open override var description: String {
        code.map { "\($0): \(message)" } ?? message
    }
}

/// An event of this client that waits until its channel is subscribed to.
public struct QueuedClientEvent {
    /// The event's name.
    public let name: String
    /// What was passed to `trigger`.
    public let data: Any

    /// Makes an event to put into ``PusherChannel/unsentEvents``.
    ///
    /// - Parameters:
    ///   - name: The event's name, which begins with `client-`.
    ///   - data: What `JSONSerialization` can write.
    public init(name: String, data: Any) {
        self.name = name
        self.data = data
    }
}
