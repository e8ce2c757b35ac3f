internal import FanfareClient
public import Foundation

/// An event.
open class PusherEvent: NSObject, NSCopying {
    /// The event's name.
    public let eventName: String
    /// The channel's name; `nil` for an event of the connection.
    public let channelName: String?
    /// The data as text, usually JSON; decrypted on an encrypted channel.
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

    /// Returns a copy of the event.
    open func copy(with zone: NSZone? = nil) -> Any { copied() }

    func copied() -> PusherEvent {
        PusherEvent(eventName: eventName, channelName: channelName, data: data, userId: userId)
    }

    /// Returns the value of one of the event's members, by its name on the wire.
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

/// An error reported by the broker.
open class PusherError: NSObject {
    /// The protocol's error code, if any.
    public let code: Int?
    /// The message.
    public let message: String

    init(code: Int?, message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the message.
    open override var description: String {
        code.map { "\($0): \(message)" } ?? message
    }
}
