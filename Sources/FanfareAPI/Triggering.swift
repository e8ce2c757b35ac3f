package import FanfareOutbox
import PusherProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension BrokerAPI {
    /// Sends an event with a value, encoded as JSON, to one channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name; `#server-to-user-ID` reaches a signed-in user.
    ///   - data: The value; its JSON may have up to 10,240 bytes unless the broker allows more.
    ///   - except: The socket ID of a connection to exclude, such as the client that requested the change.
    ///   - info: The attributes of the channel to return.
    ///   - key: The idempotency key, at most 128 characters; `nil` for a new one.
    /// - Returns: The requested attributes by channel; empty without `info`.
    /// - Throws: A ``FanfareAPIError``; see ``FanfareAPIError/mayHaveArrived``.
    @discardableResult
    public func trigger(
        _ event: String,
        on channel: String,
        data: some Encodable,
        except: String? = nil,
        info: Set<ChannelAttribute> = [],
        key: String? = nil
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        try await trigger(event, on: [channel], data: data, except: except, info: info, key: key)
    }

    /// Sends an event with a value, encoded as JSON, to several channels at once.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channels: The channels' names, at most 100.
    ///   - data: The value; its JSON may have up to 10,240 bytes unless the broker allows more.
    ///   - except: The socket ID of a connection to exclude.
    ///   - info: The attributes of the channels to return.
    ///   - key: The idempotency key, at most 128 characters; `nil` for a new one.
    /// - Returns: The requested attributes by channel; empty without `info`.
    /// - Throws: A ``FanfareAPIError``; see ``FanfareAPIError/mayHaveArrived``.
    @discardableResult
    public func trigger(
        _ event: String,
        on channels: [String],
        data: some Encodable,
        except: String? = nil,
        info: Set<ChannelAttribute> = [],
        key: String? = nil
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        let text = try APIEvent.json(data)
        return try await trigger(
            event,
            on: channels,
            text: text,
            except: except,
            info: info,
            key: key
        )
    }

    /// Sends an event with text as its data to one channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - text: The data exactly as subscribers receive it; encrypted for an encrypted channel.
    ///   - except: The socket ID of a connection to exclude.
    ///   - info: The attributes of the channel to return.
    ///   - key: The idempotency key, at most 128 characters; `nil` for a new one.
    /// - Returns: The requested attributes by channel; empty without `info`.
    /// - Throws: A ``FanfareAPIError``; see ``FanfareAPIError/mayHaveArrived``.
    @discardableResult
    public func trigger(
        _ event: String,
        on channel: String,
        text: String,
        except: String? = nil,
        info: Set<ChannelAttribute> = [],
        key: String? = nil
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        try await trigger(event, on: [channel], text: text, except: except, info: info, key: key)
    }

    /// Sends an event with text as its data to several channels at once.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channels: The channels' names, at most 100.
    ///   - text: The data exactly as subscribers receive it; encrypted for an encrypted channel.
    ///   - except: The socket ID of a connection to exclude.
    ///   - info: The attributes of the channels to return.
    ///   - key: The idempotency key, at most 128 characters; `nil` for a new one.
    /// - Returns: The requested attributes by channel; empty without `info`.
    /// - Throws: A ``FanfareAPIError``; see ``FanfareAPIError/mayHaveArrived``.
    @discardableResult
    public func trigger(
        _ event: String,
        on channels: [String],
        text: String,
        except: String? = nil,
        info: Set<ChannelAttribute> = [],
        key: String? = nil
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        try await send(
            event,
            on: channels,
            prepared: try outgoing(text, on: channels),
            except: except,
            info: info,
            key: key
        )
    }

    /// Sends an event of an outbox, which is encrypted already if it has to be.
    package func send(_ event: OutboxEvent) async throws(FanfareAPIError) {
        _ = try await send(event.name, on: [event.channel], prepared: event.data, key: event.key)
    }

    private func send(
        _ event: String,
        on channels: [String],
        prepared text: String,
        except: String? = nil,
        info: Set<ChannelAttribute> = [],
        key: String?
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        var json = JSONWriter()
        json.beginObject()
        json.name("channels")
        json.beginArray()
        for channel in channels { json.string(channel) }
        json.endArray()
        APIEvent.write(name: event, text: text, except: except, info: info, to: &json)
        writeKey(key, to: &json)
        json.endObject()
        let response = try await call("POST", "events", body: json.bytes, retry: triggerSafety)
        return try APIListResponse.decode(APIListResponse.self, from: response).channels ?? [:]
    }

    /// Sends several events in one request.
    ///
    /// If one is refused, none is sent.
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
            APIEvent.write(
                name: event.name,
                text: try outgoing(event.text, on: event.channel),
                except: event.except,
                info: event.info,
                to: &json
            )
            writeKey(event.key, to: &json)
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

    // MARK: - Keys

    /// With keys, the broker publishes an event that arrives twice once.
    private var triggerSafety: RetrySafety { settings.sendsKeys ? .idempotent : .mayDuplicate }

    /// Writes the key of an event, which all attempts have in common.
    private func writeKey(_ key: String?, to json: inout JSONWriter) {
        guard settings.sendsKeys else { return }
        json.name("idempotency_key")
        json.string(key ?? UUID().uuidString.lowercased())
    }
}
