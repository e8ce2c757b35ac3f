import PusherProtocol

extension BrokerAPI {
    /// Sends an event with a value, encoded as JSON, to a user.
    ///
    /// It reaches all connections that are signed in as the user and subscribed to the user's channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - user: The user's ID.
    ///   - data: The value; its JSON may have up to 10,240 bytes unless the broker allows more.
    /// - Throws: A ``FanfareAPIError``; see ``FanfareAPIError/mayHaveArrived``.
    public func trigger(
        _ event: String,
        toUser user: String,
        data: some Encodable
    ) async throws(FanfareAPIError) {
        try await trigger(event, toUser: user, text: try APIEvent.json(data))
    }

    /// Sends an event with text as its data to a user.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - user: The user's ID.
    ///   - text: The data exactly as the user's clients receive it.
    /// - Throws: A ``FanfareAPIError``; see ``FanfareAPIError/mayHaveArrived``.
    public func trigger(
        _ event: String,
        toUser user: String,
        text: String
    ) async throws(FanfareAPIError) {
        try BrokerAPI.check(user)
        try await trigger(event, on: BrokerAPI.channel(ofUser: user), text: text)
    }

    /// Closes every connection that is signed in as a user; succeeds if there is none.
    ///
    /// The official clients do not reconnect. A connection that has joined a presence channel with the user ID, without
    /// a sign-in, stays open.
    ///
    /// - Parameter user: The user's ID.
    /// - Throws: A ``FanfareAPIError``.
    public func terminateConnections(of user: String) async throws(FanfareAPIError) {
        try BrokerAPI.check(user)
        let path = "users/\(BrokerAPI.segment(user))/terminate_connections"
        _ = try await call("POST", path, retry: .idempotent)
    }

    /// Returns the channel of a user's own events.
    ///
    /// - Parameter user: The user's ID.
    /// - Returns: The channel's name.
    public static func channel(ofUser user: String) -> String { "#server-to-user-\(user)" }

    private static func check(_ user: String) throws(FanfareAPIError) {
        guard !user.isEmpty else { throw .invalidArgument("The user's id is empty") }
    }
}
