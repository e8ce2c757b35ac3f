public import Foundation
import PusherProtocol

/// The actions of the app's backend, which the test takes instead.
extension ScriptedBroker {
    /// Triggers an event whose data is a value, encoded as JSON.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - data: The value.
    ///   - except: The socket ID of a client that must not receive the event.
    ///   - isEphemeral: Whether only current subscribers receive the event, without a number.
    ///   - encoder: The encoder.
    /// - Throws: ``FanfareTestingError/encoding(_:)`` or ``FanfareTestingError/refused(status:message:)``.
    public func trigger(
        _ event: String,
        on channel: String,
        data: some Encodable,
        except: String? = nil,
        isEphemeral: Bool = false,
        encoder: JSONEncoder = JSONEncoder()
    ) throws(FanfareTestingError) {
        let text: String
        do {
            text = String(decoding: try encoder.encode(data), as: UTF8.self)
        } catch {
            throw .encoding("\(error)")
        }
        try trigger(event, on: [channel], text: text, except: except, isEphemeral: isEphemeral)
    }

    /// Triggers an event whose data is text, on one or more channels.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channels: The channels' names, at most 100.
    ///   - text: The data exactly as subscribers receive it.
    ///   - except: The socket ID of a client that must not receive the event.
    ///   - isEphemeral: Whether only current subscribers receive the event, without a number.
    /// - Throws: ``FanfareTestingError/refused(status:message:)``.
    public func trigger(
        _ event: String,
        on channels: [String],
        text: String,
        except: String? = nil,
        isEphemeral: Bool = false
    ) throws(FanfareTestingError) {
        var json = JSONWriter()
        json.beginObject()
        json.name("name")
        json.string(event)
        json.name("data")
        json.string(text)
        json.name("channels")
        json.beginArray()
        for channel in channels { json.string(channel) }
        json.endArray()
        if let except {
            json.name("socket_id")
            json.string(except)
        }
        if isEphemeral {
            json.name("ephemeral")
            json.boolean(true)
        }
        json.endObject()
        do throws(APIError) {
            try act { (state, now) throws(APIError) in
                let publication = try TriggerRequest.parse(
                    json.bytes.span,
                    limits: state.broker.texts
                )
                state.broker.publish(publication, at: now)
            }
        } catch {
            throw .refused(status: error.status, message: error.message)
        }
    }

    /// Triggers an event for all clients that are signed in as a user.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - user: The user's ID.
    ///   - data: The value, encoded as JSON.
    /// - Throws: ``FanfareTestingError/encoding(_:)`` or ``FanfareTestingError/refused(status:message:)``.
    public func trigger(
        _ event: String,
        toUser user: String,
        data: some Encodable
    ) throws(FanfareTestingError) {
        try trigger(event, on: "#server-to-user-\(user)", data: data)
    }

    /// Closes all connections that are signed in as a user, with 4009.
    public func terminateConnections(of user: String) {
        act { state, now in state.broker.terminate(user, at: now) }
    }
}
