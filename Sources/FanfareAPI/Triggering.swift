package import FanfareOutbox
import PusherProtocol

extension BrokerAPI {
    /// Sends an event with a value, encoded as JSON, to one channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name; `#server-to-user-ID` reaches a signed-in user.
    ///   - data: The value; its JSON may have up to 10,240 bytes unless the broker allows more.
    ///   - except: The socket ID of a connection that must not receive the event, such as that of the client that
    ///     requested the change.
    ///   - info: The attributes of the channel to return.
    ///   - key: The idempotency key, at most 128 characters; `nil` for a new one.
    ///   - position: The position that the channel must have, so that nothing was published since. Otherwise the event
    ///     is not published and the call throws `.refused` with status 412.
    ///   - ephemeral: Whether only current subscribers receive the event: the broker does not keep, number or cache it.
    ///   - durable: Whether the broker answers only after the event is on disk, safe from a power failure; refused with
    ///     status 400 on a channel in memory.
    /// - Returns: The requested attributes by channel; empty without `info`.
    /// - Throws: A ``FanfareAPIError``; see ``FanfareAPIError/mayHaveArrived``.
    @discardableResult
    public func trigger(
        _ event: String,
        on channel: String,
        data: some Encodable,
        except: String? = nil,
        info: Set<ChannelAttribute> = [],
        key: String? = nil,
        ifPosition position: ChannelState.Position? = nil,
        ephemeral: Bool = false,
        durable: Bool = false
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        let options = EventOptions(
            except: except,
            info: info,
            key: key,
            ifPosition: position,
            isEphemeral: ephemeral,
            isDurable: durable
        )
        return try await send(event, on: [channel], text: try APIEvent.json(data), options)
    }

    /// Sends an event with a value, encoded as JSON, to several channels at once.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channels: The channels' names, at most 100.
    ///   - data: The value; its JSON may have up to 10,240 bytes unless the broker allows more.
    ///   - except: The socket ID of a connection that must not receive the event.
    ///   - info: The attributes of the channels to return.
    ///   - key: The idempotency key, at most 128 characters; `nil` for a new one.
    ///   - ephemeral: Whether only current subscribers receive the event: the broker does not keep, number or cache it.
    ///   - durable: Whether the broker answers only after the event is on disk, safe from a power failure; refused with
    ///     status 400 on a channel in memory.
    /// - Returns: The requested attributes by channel; empty without `info`.
    /// - Throws: A ``FanfareAPIError``; see ``FanfareAPIError/mayHaveArrived``.
    @discardableResult
    public func trigger(
        _ event: String,
        on channels: [String],
        data: some Encodable,
        except: String? = nil,
        info: Set<ChannelAttribute> = [],
        key: String? = nil,
        ephemeral: Bool = false,
        durable: Bool = false
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        let options = EventOptions(
            except: except,
            info: info,
            key: key,
            isEphemeral: ephemeral,
            isDurable: durable
        )
        return try await send(event, on: channels, text: try APIEvent.json(data), options)
    }

    /// Sends an event with text as its data to one channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - text: The data exactly as subscribers receive it; this method encrypts it for an encrypted channel.
    ///   - except: The socket ID of a connection that must not receive the event.
    ///   - info: The attributes of the channel to return.
    ///   - key: The idempotency key, at most 128 characters; `nil` for a new one.
    ///   - position: The position that the channel must have, so that nothing was published since. Otherwise the event
    ///     is not published and the call throws `.refused` with status 412.
    ///   - ephemeral: Whether only current subscribers receive the event: the broker does not keep, number or cache it.
    ///   - durable: Whether the broker answers only after the event is on disk, safe from a power failure; refused with
    ///     status 400 on a channel in memory.
    /// - Returns: The requested attributes by channel; empty without `info`.
    /// - Throws: A ``FanfareAPIError``; see ``FanfareAPIError/mayHaveArrived``.
    @discardableResult
    public func trigger(
        _ event: String,
        on channel: String,
        text: String,
        except: String? = nil,
        info: Set<ChannelAttribute> = [],
        key: String? = nil,
        ifPosition position: ChannelState.Position? = nil,
        ephemeral: Bool = false,
        durable: Bool = false
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        let options = EventOptions(
            except: except,
            info: info,
            key: key,
            ifPosition: position,
            isEphemeral: ephemeral,
            isDurable: durable
        )
        return try await send(event, on: [channel], text: text, options)
    }

    /// Sends an event with text as its data to several channels at once.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channels: The channels' names, at most 100.
    ///   - text: The data exactly as subscribers receive it; encrypted for an encrypted channel.
    ///   - except: The socket ID of a connection that must not receive the event.
    ///   - info: The attributes of the channels to return.
    ///   - key: The idempotency key, at most 128 characters; `nil` for a new one.
    ///   - ephemeral: Whether only current subscribers receive the event: the broker does not keep, number or cache it.
    ///   - durable: Whether the broker answers only after the event is on disk, safe from a power failure; refused with
    ///     status 400 on a channel in memory.
    /// - Returns: The requested attributes by channel; empty without `info`.
    /// - Throws: A ``FanfareAPIError``; see ``FanfareAPIError/mayHaveArrived``.
    @discardableResult
    public func trigger(
        _ event: String,
        on channels: [String],
        text: String,
        except: String? = nil,
        info: Set<ChannelAttribute> = [],
        key: String? = nil,
        ephemeral: Bool = false,
        durable: Bool = false
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        let options = EventOptions(
            except: except,
            info: info,
            key: key,
            isEphemeral: ephemeral,
            isDurable: durable
        )
        return try await send(event, on: channels, text: text, options)
    }

    /// Sends an event of an outbox; if it must be encrypted, it already is.
    package func send(_ event: OutboxEvent) async throws(FanfareAPIError) {
        let options = EventOptions(key: event.key)
        _ = try await send(event.name, on: [event.channel], prepared: event.data, options)
    }

    private func send(
        _ event: String,
        on channels: [String],
        text: String,
        _ options: EventOptions
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        let prepared = try outgoing(text, on: channels)
        return try await send(event, on: channels, prepared: prepared, options)
    }

    private func send(
        _ event: String,
        on channels: [String],
        prepared text: String,
        _ options: EventOptions
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        var json = JSONWriter()
        json.beginObject()
        json.name("channels")
        json.beginArray()
        for channel in channels { json.string(channel) }
        json.endArray()
        options.write(name: event, text: text, hasKey: settings.sendsKeys, to: &json)
        json.endObject()
        let response = try await call("POST", "events", body: json.bytes, retry: triggerSafety)
        return try APIListResponse.decode(APIListResponse.self, from: response).channels ?? [:]
    }

    /// Sends several events in one request.
    ///
    /// If the broker refuses one of them, it publishes none.
    ///
    /// - Parameter batch: At most 10 events unless the broker allows more, in the order of delivery.
    /// - Returns: The requested attributes for each event, in the same order; empty when no event has `info`.
    /// - Throws: A ``FanfareAPIError``; see ``FanfareAPIError/mayHaveArrived``.
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
            event.options.write(
                name: event.name,
                text: try outgoing(event.text, on: event.channel),
                hasKey: settings.sendsKeys,
                to: &json
            )
            json.endObject()
        }
        json.endArray()
        json.endObject()
        let response = try await call(
            "POST",
            "batch_events",
            body: json.bytes,
            retry: triggerSafety
        )
        return try APIListResponse.decode(APIListResponse.self, from: response).batch ?? []
    }

    /// The safety of repeating a trigger: with keys, the broker publishes an event that arrives twice once.
    private var triggerSafety: RetrySafety { settings.sendsKeys ? .idempotent : .mayDuplicate }
}
