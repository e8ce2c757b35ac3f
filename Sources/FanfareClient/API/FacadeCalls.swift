import PusherProtocol
import Synchronization

/// What a facade needs whose interface was made for another client.
extension FanfareClient {
    /// Whether the app has asked for a channel, however far that has got.
    package func isAskedFor(_ channel: String) -> Bool {
        state.withLock { $0.session.subscription(to: channel) != nil }
    }

    /// How many events of a channel wait to be sent.
    package func waitingClientEventCount(of channel: String) -> Int {
        state.withLock { $0.session.outbox.count(of: channel) }
    }

    /// Gives up the events of a channel that wait to be sent.
    package func dropClientEvents(of channel: String) {
        state.withLock { _ = $0.session.outbox.removeAll(of: channel) }
    }

    /// Says something to the broker for which the client has no word of its own.
    ///
    /// - Parameters:
    ///   - event: The message's event.
    ///   - json: Its data: one JSON value, no longer than ``ClientOptions/clientEventLengthMax``, which is sent as it is.
    /// - Returns: Why it is not sent; `nil` when it has left.
    package func say(_ event: String, json: String) -> String? {
        let (length, lengthMax) = (json.utf8.count, options.clientEventLengthMax)
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
