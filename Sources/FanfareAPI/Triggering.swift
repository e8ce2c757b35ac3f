import PusherProtocol

extension FanfareAPI {
    /// Sends an event whose data is a value, written as JSON, to one channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name; `#server-to-user-ID` reaches a signed-in user.
    ///   - data: The value; its JSON may have 10,240 bytes unless the broker allows more.
    ///   - except: The id of a connection that is left out: that of the client which asked for the change, say.
    ///   - info: What is to be told about the channel in return.
    /// - Returns: By channel, what was asked for; empty without `info`.
    /// - Throws: Why it was not sent, or not known to be.
    @discardableResult
    public func trigger(
        _ event: String,
        on channel: String,
        data: some Encodable,
        except: String? = nil,
        info: Set<ChannelAttribute> = []
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        try await trigger(event, on: [channel], data: data, except: except, info: info)
    }

    /// Sends an event whose data is a value, written as JSON, to several channels at once.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channels: The channels' names, at most 100.
    ///   - data: The value; its JSON may have 10,240 bytes unless the broker allows more.
    ///   - except: The id of a connection that is left out.
    ///   - info: What is to be told about the channels in return.
    /// - Returns: By channel, what was asked for; empty without `info`.
    /// - Throws: Why it was not sent, or not known to be.
    @discardableResult
    public func trigger(
        _ event: String,
        on channels: [String],
        data: some Encodable,
        except: String? = nil,
        info: Set<ChannelAttribute> = []
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        let text = try APIEvent.json(data)
        return try await trigger(event, on: channels, text: text, except: except, info: info)
    }

    /// Sends an event whose data is any text to one channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - text: The data exactly as the subscribers receive it; for an encrypted channel it is sealed.
    ///   - except: The id of a connection that is left out.
    ///   - info: What is to be told about the channel in return.
    /// - Returns: By channel, what was asked for; empty without `info`.
    /// - Throws: Why it was not sent, or not known to be.
    @discardableResult
    public func trigger(
        _ event: String,
        on channel: String,
        text: String,
        except: String? = nil,
        info: Set<ChannelAttribute> = []
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        try await trigger(event, on: [channel], text: text, except: except, info: info)
    }

    /// Sends an event whose data is any text to several channels at once.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channels: The channels' names, at most 100.
    ///   - text: The data exactly as the subscribers receive it; for an encrypted channel it is sealed.
    ///   - except: The id of a connection that is left out.
    ///   - info: What is to be told about the channels in return.
    /// - Returns: By channel, what was asked for; empty without `info`.
    /// - Throws: Why it was not sent, or not known to be.
    @discardableResult
    public func trigger(
        _ event: String,
        on channels: [String],
        text: String,
        except: String? = nil,
        info: Set<ChannelAttribute> = []
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        let text = try outgoing(text, on: channels)
        var json = JSONWriter()
        json.beginObject()
        json.name("channels")
        json.beginArray()
        for channel in channels { json.string(channel) }
        json.endArray()
        APIEvent.write(name: event, text: text, except: except, info: info, to: &json)
        json.endObject()
        let answer = try await call("POST", "events", body: json.bytes, repetition: .delivers)
        return try APIAnswers.decode(APIAnswers.self, from: answer).channels ?? [:]
    }

    /// Sends several events in one request: all of them, or none if one is refused.
    ///
    /// - Parameter batch: At most 10 events unless the broker allows more, in the order of delivery.
    /// - Returns: For each event what it asked for, in the same order; empty when none asked.
    /// - Throws: Why they were not sent, or not known to be.
    @discardableResult
    public func trigger(
        batch: [APIEvent]
    ) async throws(FanfareAPIError) -> [ChannelState] {
        guard !batch.isEmpty else { return [] }
        var json = JSONWriter()
        json.beginObject()
        json.name("batch")
        json.beginArray()
        for event in batch {
            json.beginObject()
            json.name("channel")
            json.string(event.channel)
            APIEvent.write(
                name: event.name,
                text: try outgoing(event.text, on: event.channel),
                except: event.except,
                info: event.info,
                to: &json
            )
            json.endObject()
        }
        json.endArray()
        json.endObject()
        let answer = try await call("POST", "batch_events", body: json.bytes, repetition: .delivers)
        return try APIAnswers.decode(APIAnswers.self, from: answer).batch ?? []
    }
}
