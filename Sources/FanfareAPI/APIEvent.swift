#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An event for one channel in a batch.
public struct APIEvent: Equatable, Sendable {
    /// The event's name.
    public var name: String
    /// The channel's name.
    public var channel: String
    /// The data as subscribers receive it.
    public var text: String
    /// The socket ID of a connection that must not receive the event.
    public var except: String?
    /// The attributes of the channel to return.
    public var info: Set<ChannelAttribute>
    /// The idempotency key, at most 128 characters; `nil` for a new key with each call.
    public var key: String?
    /// Whether only current subscribers receive the event: the broker does not keep, number or cache it.
    public var isEphemeral: Bool
    /// Whether the broker answers only after the event is on disk, safe from a power failure.
    public var isDurable: Bool

    /// Creates an event with text as its data.
    ///
    /// - Parameters:
    ///   - name: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - text: The data exactly as subscribers receive it, at most 10,240 bytes unless the broker allows more.
    ///   - except: The socket ID of a connection that must not receive the event.
    ///   - info: The attributes of the channel to return.
    ///   - key: The idempotency key, at most 128 characters; `nil` for a new key with each call.
    ///   - ephemeral: Whether only current subscribers receive the event; see ``isEphemeral``.
    ///   - durable: Whether the broker answers only after the event is on disk; see ``isDurable``.
    public init(
        _ name: String,
        on channel: String,
        text: String,
        except: String? = nil,
        info: Set<ChannelAttribute> = [],
        key: String? = nil,
        ephemeral: Bool = false,
        durable: Bool = false
    ) {
        self.name = name
        self.channel = channel
        self.text = text
        self.except = except
        self.info = info
        self.key = key
        isEphemeral = ephemeral
        isDurable = durable
    }

    /// Creates an event with a value, encoded as JSON.
    ///
    /// - Parameters:
    ///   - name: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - data: The value; its JSON may have up to 10,240 bytes unless the broker allows more.
    ///   - except: The socket ID of a connection that must not receive the event.
    ///   - info: The attributes of the channel to return.
    ///   - key: The idempotency key, at most 128 characters; `nil` for a new key with each call.
    ///   - ephemeral: Whether only current subscribers receive the event; see ``isEphemeral``.
    ///   - durable: Whether the broker answers only after the event is on disk; see ``isDurable``.
    /// - Throws: `.encoding` when the value cannot be encoded.
    public init(
        _ name: String,
        on channel: String,
        data: some Encodable,
        except: String? = nil,
        info: Set<ChannelAttribute> = [],
        key: String? = nil,
        ephemeral: Bool = false,
        durable: Bool = false
    ) throws(FanfareAPIError) {
        self.init(
            name,
            on: channel,
            text: try APIEvent.json(data),
            except: except,
            info: info,
            key: key,
            ephemeral: ephemeral,
            durable: durable
        )
    }

    /// Encodes a value as JSON.
    static func json(_ value: some Encodable) throws(FanfareAPIError) -> String {
        do {
            return String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        } catch {
            throw .encoding("\(error)")
        }
    }

    /// The options: all members except name, channel and data.
    var options: EventOptions {
        EventOptions(
            except: except,
            info: info,
            key: key,
            isEphemeral: isEphemeral,
            isDurable: isDurable
        )
    }
}
