import PusherProtocol
import Primitives

/// Calls for a facade with another client's API, such as `PusherSwift`.
extension Fanfare {
    /// Whether the app has subscribed to the channel, confirmed or not.
    package func hasSubscription(to channel: String) -> Bool {
        state.withLock { $0.session.subscription(to: channel) != nil }
    }

    /// Returns the number of the channel's client events that wait to be sent.
    package func queuedClientEventCount(of channel: String) -> Int {
        state.withLock { $0.session.outbox.count(of: channel) }
    }

    /// Drops the channel's client events that wait to be sent.
    package func dropClientEvents(of channel: String) {
        act { $0.outbox.discard(of: channel) }
    }

    /// Sends a message for which the client has no method.
    ///
    /// - Parameters:
    ///   - event: The message's event.
    ///   - json: The data: one JSON value of at most ``ClientOptions/Limits/clientEventLengthMax`` bytes, sent
    ///     unchanged.
    /// - Returns: The reason the message was not sent; `nil` if it was sent.
    package func sendMessage(_ event: String, json: String) -> String? {
        let (length, lengthMax) = (json.utf8.count, options.limits.clientEventLengthMax)
        guard length <= lengthMax else {
            return "its data has \(length) bytes of \(lengthMax) allowed"
        }
        var message = JSONWriter()
        message.beginObject()
        message.name("event")
        message.string(event)
        message.name("data")
        message.verbatim(Array(json.utf8))
        message.endObject()
        return state.withLock { state in
            guard state.session.status.isConnected, let connection = state.connection else {
                return "there is no connection. Wait until the client is connected"
            }
            connection.send(message.bytes)
            return nil
        }
    }
}
