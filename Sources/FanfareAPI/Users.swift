import PusherProtocol

extension FanfareAPI {
    /// Sends an event whose data is a value, written as JSON, to a user: to all connections signed in as them that have
    /// subscribed to their own channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - user: The user's id.
    ///   - data: The value; its JSON may have 10,240 bytes unless the broker allows more.
    /// - Throws: Why it was not sent, or not known to be.
    public func trigger(
        _ event: String,
        toUser user: String,
        data: some Encodable
    ) async throws(FanfareAPIError) {
        try await trigger(event, toUser: user, text: try APIEvent.json(data))
    }

    /// Sends an event whose data is any text to a user.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - user: The user's id.
    ///   - text: The data exactly as the user's clients receive it.
    /// - Throws: Why it was not sent, or not known to be.
    public func trigger(
        _ event: String,
        toUser user: String,
        text: String
    ) async throws(FanfareAPIError) {
        try FanfareAPI.check(user)
        try await trigger(event, on: FanfareAPI.channel(ofUser: user), text: text)
    }

    /// Closes every connection that is signed in as a user; that there is none is no error.
    ///
    /// The official clients do not connect again by themselves. Who is on a presence channel under that id without
    /// having signed in stays.
    ///
    /// - Parameter user: The user's id.
    /// - Throws: Why the connections were not closed, or are not known to be.
    public func terminateConnections(of user: String) async throws(FanfareAPIError) {
        try FanfareAPI.check(user)
        let path = "users/\(FanfareAPI.segment(user))/terminate_connections"
        _ = try await call("POST", path, repetition: .harmless)
    }

    /// The channel over which a user's own events go.
    ///
    /// - Parameter user: The user's id.
    /// - Returns: The channel's name.
    public static func channel(ofUser user: String) -> String { "#server-to-user-\(user)" }

    private static func check(_ user: String) throws(FanfareAPIError) {
        guard !user.isEmpty else { throw .invalidArgument("The user's id is empty") }
    }
}
