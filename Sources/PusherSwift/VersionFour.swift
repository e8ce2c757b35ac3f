internal import FanfareClient
import Foundation

// What version 4 offered beside, in the words of that time.

extension PusherChannel {
    /// Calls those who are bound to an event.
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
    /// The event's name, as it was called where the older spelling had a `PusherEvent`.
    @available(*, deprecated, renamed: "eventName")
    public var name: String { eventName }
}

extension PusherClientOptions {
    /// Whether the connection goes over TLS.
    @available(*, deprecated, renamed: "useTLS")
    public var encrypted: Bool { useTLS }
}

/// The members of an event as it goes over the wire.
public typealias PusherEventJSON = [String: AnyObject]

extension PusherConnection {
    /// Whether there is a connection.
    ///
    /// What is set here is read here until the state changes.
    @available(*, deprecated, message: "ask for connectionState")
    public var socketConnected: Bool {
        get { socketConnectedByApp.value(or: client.status.isConnected) }
        set { socketConnectedByApp.set(newValue) }
    }

    /// Whether the broker has said its first message.
    ///
    /// What is set here is read here until the state changes.
    @available(*, deprecated, message: "ask for connectionState")
    public var connectionEstablishedMessageReceived: Bool {
        get { establishedByApp.value(or: client.status.isConnected) }
        set { establishedByApp.set(newValue) }
    }

    /// Calls those who are bound to an event.
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

    /// The members of an event as it goes over the wire.
    ///
    /// - Parameter string: The message.
    /// - Returns: Its members; `nil` when it is no JSON object.
    public func getPusherEventJSON(from string: String) -> PusherEventJSON? {
        LegacyPayload(attemptsJSON: true).value(of: string) as? [String: AnyObject]
    }

    /// The data of an event, as callbacks of the older spelling get it.
    ///
    /// - Parameter string: The data as text.
    /// - Returns: The object or array that the text is the JSON of, or else the text.
    public func getEventDataJSON(from string: String) -> Any {
        LegacyPayload(attemptsJSON: true).value(of: string) ?? string
    }
}
