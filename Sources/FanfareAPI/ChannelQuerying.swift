extension FanfareAPI {
    /// Lists the channels that somebody is subscribed to.
    ///
    /// - Parameters:
    ///   - prefix: What their names begin with; empty for all.
    ///   - info: What to tell about each; ``ChannelAttribute/userCount`` needs a prefix that begins with `presence-`.
    /// - Returns: What was asked for, by name.
    /// - Throws: Why there is no answer.
    public func channels(
        prefix: String = "",
        info: Set<ChannelAttribute> = []
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        var parameters: [(name: String, value: String)] = []
        if !prefix.isEmpty { parameters.append((name: "filter_by_prefix", value: prefix)) }
        if !info.isEmpty {
            parameters.append((name: "info", value: ChannelAttribute.list(info)))
        }
        let answer = try await call(
            "GET",
            "channels",
            parameters: parameters,
            repetition: .harmless
        )
        return try APIAnswers.decode(APIAnswers.self, from: answer).channels ?? [:]
    }

    /// Asks about one channel, which nobody need be subscribed to.
    ///
    /// - Parameters:
    ///   - name: The channel's name.
    ///   - info: What to tell, of what such a channel has.
    /// - Returns: What is known.
    /// - Throws: Why there is no answer.
    public func channel(
        _ name: String,
        info: Set<ChannelAttribute> = []
    ) async throws(FanfareAPIError) -> ChannelState {
        guard !name.isEmpty else { throw .invalidArgument("The channel's name is empty") }
        let parameters =
            info.isEmpty ? [] : [(name: "info", value: ChannelAttribute.list(info))]
        let answer = try await call(
            "GET",
            "channels/\(FanfareAPI.segment(name))",
            parameters: parameters,
            repetition: .harmless
        )
        return try APIAnswers.decode(ChannelState.self, from: answer)
    }

    /// Lists the users on a presence channel.
    ///
    /// - Parameter channel: The channel's name.
    /// - Returns: Their ids, each once.
    /// - Throws: Why there is no answer.
    public func users(on channel: String) async throws(FanfareAPIError) -> [String] {
        guard !channel.isEmpty else { throw .invalidArgument("The channel's name is empty") }
        let answer = try await call(
            "GET",
            "channels/\(FanfareAPI.segment(channel))/users",
            repetition: .harmless
        )
        return try APIAnswers.decode(APIAnswers.self, from: answer).users?.map(\.id) ?? []
    }
}
