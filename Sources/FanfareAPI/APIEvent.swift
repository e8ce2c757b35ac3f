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
    /// The socket ID of a connection to exclude.
    public var except: String?
    /// The attributes of the channel to return.
    public var info: Set<ChannelAttribute>
    /// The idempotency key, at most 128 characters; `nil` for a new one with each call.
    public var key: String?
    /// Whether the event is for present subscribers alone: neither kept, nor numbered, nor cached.
    public var isEphemeral: Bool
    /// Whether the broker answers only when the event is on the disk, also for a loss of power.
    public var isDurable: Bool

    /// Creates an event with text as its data.
    ///
    /// - Parameters:
    ///   - name: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - text: The data exactly as subscribers receive it, at most 10,240 bytes unless the broker allows more.
    ///   - except: The socket ID of a connection to exclude.
    ///   - info: The attributes of the channel to return.
    ///   - key: The idempotency key; `nil` for a new one with each call.
    ///   - ephemeral: Whether the event is for present subscribers alone.
    ///   - durable: Whether the broker answers only when the event is on the disk.
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
    ///   - except: The socket ID of a connection to exclude.
    ///   - info: The attributes of the channel to return.
    ///   - key: The idempotency key; `nil` for a new one with each call.
    ///   - ephemeral: Whether the event is for present subscribers alone.
    ///   - durable: Whether the broker answers only when the event is on the disk.
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

    /// The members beside name and data.
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
