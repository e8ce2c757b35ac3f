internal import FanfareClient
import Foundation

// The API of version 4 that later versions no longer have.

extension PusherChannel {
    /// Calls the callbacks bound to an event.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - data: The data as text.
    @available(*, deprecated, renamed: "handleEvent(event:)")
    public func handleEvent(name: String, data: String) {
        handleEvent(event: PusherEvent(eventName: name, channelName: self.name, data: data))
    }
}

extension PusherEvent {
    /// The event's name, in version 4's form.
    @available(*, deprecated, renamed: "eventName")
    public var name: String { eventName }
}

extension PusherClientOptions {
    /// Whether the connection uses TLS.
    @available(*, deprecated, renamed: "useTLS")
    public var encrypted: Bool { useTLS }
}

/// The members of an event on the wire.
public typealias PusherEventJSON = [String: AnyObject]

extension PusherConnection {
    /// Whether there is a connection.
    ///
    /// A value set by the app is returned until the state changes.
    @available(*, deprecated, message: "use connectionState")
    public var socketConnected: Bool {
        get { socketConnectedByApp.value(or: client.status.isConnected) }
        set { socketConnectedByApp.set(newValue) }
    }

    /// Whether the broker's first message has been received.
    ///
    /// A value set by the app is returned until the state changes.
    @available(*, deprecated, message: "use connectionState")
    public var connectionEstablishedMessageReceived: Bool {
        get { establishedByApp.value(or: client.status.isConnected) }
        set { establishedByApp.set(newValue) }
    }

    /// Calls the callbacks bound to an event.
    ///
    /// - Parameters:
    ///   - eventName: The event's name.
    ///   - jsonObject: The event's members: `channel`, and `data` as text.
    @available(*, deprecated, renamed: "handleEvent(event:)")
    public func handleEvent(eventName: String, jsonObject: PusherEventJSON) {
        handleEvent(
            event: PusherEvent(
                eventName: eventName,
                channelName: jsonObject["channel"] as? String,
                data: jsonObject["data"] as? String,
                userId: jsonObject["user_id"] as? String
            )
        )
    }

    /// Parses a message into the members of an event.
    ///
    /// - Parameter string: The message.
    /// - Returns: Its members; `nil` if it is not a JSON object.
    public func getPusherEventJSON(from string: String) -> PusherEventJSON? {
        LegacyPayload(attemptsJSON: true).value(of: string) as? [String: AnyObject]
    }

    /// Parses the data of an event, as for callbacks of the older API.
    ///
    /// - Parameter string: The data as text.
    /// - Returns: The parsed JSON object or array, otherwise the text.
    public func getEventDataJSON(from string: String) -> Any {
        LegacyPayload(attemptsJSON: true).value(of: string) ?? string
    }
}
