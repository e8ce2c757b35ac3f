import Testing

/// The message of an event, with the data as a JSON string.
func eventText(_ name: String, _ channel: String, data: String?, userID: String? = nil) -> String {
    let data = data.map { #","data":"\#(quoted($0))""# } ?? ""
    let user = userID.map { #","user_id":"\#($0)""# } ?? ""
    return #"{"event":"\#(name)","channel":"\#(channel)"\#(data)\#(user)}"#
}

extension TestBroker {
    /// Connects, and subscribes to a channel of any kind; on a presence channel as a user.
    ///
    /// Reads the acknowledgement, and nothing after it.
    func subscribed(
        to channel: String,
        as user: String = "ann"
    ) async throws -> (WebSocketWire, socketID: String) {
        let (client, socketID) = try await connected()
        let data = channel.hasPrefix("presence-") ? #"{"user_id":"\#(user)"}"# : nil
        try client.send(subscribeMessage(to: channel, socketID: socketID, data: data))
        let answer = try await client.nextText()
        let start = #"{"event":"pusher_internal:subscription_succeeded","channel":"\#(channel)","#
        #expect(answer.hasPrefix(start))
        return (client, socketID)
    }
}

extension WebSocketWire {
    /// Subscribes to many public channels, and waits for all acknowledgements.
    func subscribe(to channels: [String]) async throws {
        for channel in channels {
            try send(#"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#)
        }
        for _ in channels {
            let answer = try await nextText()
            #expect(answer.hasPrefix(#"{"event":"pusher_internal:subscription_succeeded","#))
        }
    }

    /// Sends an event to the others on a channel; the data is JSON.
    func publish(_ name: String, _ channel: String, json: String?) throws {
        let data = json.map { #","data":\#($0)"# } ?? ""
        try send(#"{"event":"\#(name)","channel":"\#(channel)"\#(data)}"#)
    }
}
