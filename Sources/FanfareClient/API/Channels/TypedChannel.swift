/// The events of one kind of channel with the types of their data, and the type of its member information.
///
/// ```swift
/// struct Room: ChannelSchema {
///     typealias MemberInfo = Profile
///     let message = EventName<Message>("message")
///     let typing = EventName<Typing>("client-typing")
/// }
/// let room = client.channel("presence-room", of: Room.self)
/// room.message.bind { message in list.append(message.text) }
/// ```
public protocol ChannelSchema: Sendable {
    /// The type of the information about a member of a presence channel.
    associatedtype MemberInfo: Decodable & Sendable = NoMemberInfo

    /// Creates the schema, which has no state.
    init()
}

/// The member information of a channel that has none, or whose information the app ignores.
public struct NoMemberInfo: Decodable, Sendable, Hashable {
    /// Decodes from any value.
    public init(from decoder: any Decoder) {}
}

/// A channel with typed events; each event of its schema is a property.
///
/// A lightweight handle, as ``Channel`` is. For an event with the name of a property below, use
/// ``subscript(dynamicMember:)``.
@dynamicMemberLookup
public struct TypedChannel<Schema: ChannelSchema>: Sendable, Hashable {
    /// The channel without types.
    public let channel: Channel

    /// An event of the channel.
    public subscript<Payload>(
        dynamicMember event: KeyPath<Schema, EventName<Payload>>
    ) -> TypedEvent<Payload> {
        TypedEvent(name: Schema()[keyPath: event], channel: channel)
    }

    /// Whether the broker has confirmed the subscription on the current connection.
    public var isSubscribed: Bool { channel.isSubscribed }

    /// Subscribes now or when the client connects, and again on each later connection.
    ///
    /// See ``Channel/subscribe(from:rewind:fresh:)``.
    ///
    /// - Returns: The same channel.
    @discardableResult
    public func subscribe() -> TypedChannel {
        channel.subscribe()
        return self
    }

    /// Ends the subscription of ``subscribe()``; see ``Channel/unsubscribe()``.
    public func unsubscribe() { channel.unsubscribe() }

    /// Subscribes for as long as the lease is held.
    ///
    /// - Returns: The lease; it ends when it is cancelled or released.
    public func subscription() -> ChannelSubscription { channel.subscription() }

    /// Waits until the broker has confirmed the subscription; see ``Channel/waitUntilSubscribed()``.
    ///
    /// - Throws: A ``FanfareError``, or `CancellationError`.
    public func waitUntilSubscribed() async throws { try await channel.waitUntilSubscribed() }
}

extension Fanfare {
    /// Returns a channel with typed events, subscribed or not.
    ///
    /// Has no side effect.
    ///
    /// - Parameters:
    ///   - name: The channel's name.
    ///   - schema: The channel's events.
    /// - Returns: The channel.
    public func channel<Schema: ChannelSchema>(
        _ name: String,
        of schema: Schema.Type
    ) -> TypedChannel<Schema> { TypedChannel(channel: channel(name)) }
}
