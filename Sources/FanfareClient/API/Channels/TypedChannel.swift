/// What travels on a kind of channel: its events with the types of their data, and what is told of its members.
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
    /// What the backend tells of a member of a presence channel.
    associatedtype MemberInfo: Decodable & Sendable = NoMemberInfo

    /// Makes the description, which has no state.
    init()
}

/// Nothing is told of members, or nothing that the app wants to know.
public struct NoMemberInfo: Decodable, Sendable, Hashable {
    /// Makes it, for tests.
    public init() {}

    /// Takes whatever is there.
    public init(from decoder: any Decoder) {}
}

/// A channel whose events have types: those of its schema are its members.
///
/// As a ``Channel``, a value without a life of its own. An event of the schema whose name is also that of a member below
/// is found by ``subscript(dynamicMember:)`` alone.
@dynamicMemberLookup
public struct TypedChannel<Schema: ChannelSchema>: Sendable, Hashable {
    /// The channel without types, for everything that has none.
    public let channel: Channel

    /// Gives the events of a channel their types.
    ///
    /// - Parameter channel: The channel.
    public init(_ channel: Channel) { self.channel = channel }

    /// An event of the channel.
    public subscript<Payload>(
        dynamicMember event: KeyPath<Schema, EventName<Payload>>
    ) -> TypedEvent<Payload> {
        TypedEvent(name: Schema()[keyPath: event], channel: channel)
    }

    /// Whether the broker has confirmed the subscription on the present connection.
    public var isSubscribed: Bool { channel.isSubscribed }

    /// Subscribes now, or as soon as the client is connected, and again with each connection.
    ///
    /// - Returns: The same channel.
    @discardableResult
    public func subscribe() -> TypedChannel {
        channel.subscribe()
        return self
    }

    /// Unsubscribes: the channel's sequences end, its callbacks stay and rest.
    public func unsubscribe() { channel.unsubscribe() }

    /// Waits until the broker has confirmed the subscription; as ``Channel/waitUntilSubscribed()``.
    ///
    /// - Throws: A ``FanfareError``, or `CancellationError`.
    public func waitUntilSubscribed() async throws { try await channel.waitUntilSubscribed() }
}

extension FanfareClient {
    /// A channel whose events have types, whether subscribed to or not; asking for it does nothing else.
    ///
    /// - Parameters:
    ///   - name: The channel's name.
    ///   - schema: What travels on it.
    /// - Returns: The channel.
    public func channel<Schema: ChannelSchema>(
        _ name: String,
        of schema: Schema.Type
    ) -> TypedChannel<Schema> { TypedChannel(channel(name)) }
}
