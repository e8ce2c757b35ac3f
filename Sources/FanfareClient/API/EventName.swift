/// An event's name together with the type of its data.
///
/// ```swift
/// extension EventName {
///     static var addUser: EventName<User> { EventName<User>("addUser") }
/// }
/// channel.bind(.addUser) { user in list.append(user) }
/// ```
public struct EventName<Payload: Decodable & Sendable>: Sendable, Hashable {
    /// The name as it goes over the wire.
    public let text: String

    /// Names an event whose data is a `Payload`, as JSON.
    public init(_ text: String) { self.text = text }
}
