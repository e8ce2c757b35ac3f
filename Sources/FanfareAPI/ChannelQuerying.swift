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
        try await list(prefix, info).channels
    }

    /// Lists some of the channels that somebody is subscribed to, in the order of their names.
    ///
    /// A list of very many is best read in parts:
    ///
    /// ```swift
    /// var cursor: String?
    /// repeat {
    ///     let page = try await api.channels(limit: 1_000, after: cursor)
    ///     for (name, state) in page.channels { … }
    ///     cursor = page.nextCursor
    /// } while cursor != nil
    /// ```
    ///
    /// An addition of Fanfare's to the Pusher HTTP API: other servers answer with the whole list.
    ///
    /// - Parameters:
    ///   - prefix: What their names begin with; empty for all.
    ///   - info: What to tell about each; ``ChannelAttribute/userCount`` needs a prefix that begins with `presence-`.
    ///   - limit: How many at the most.
    ///   - cursor: Where to go on: the last page's ``ChannelPage/nextCursor``, or `nil` for the first channels.
    /// - Returns: What was asked for, and where the next page begins.
    /// - Throws: Why there is no answer.
    public func channels(
        prefix: String = "",
        info: Set<ChannelAttribute> = [],
        limit: Int,
        after cursor: String? = nil
    ) async throws(FanfareAPIError) -> ChannelPage {
        guard limit > 0 else { throw .invalidArgument("The limit is \(limit); 1 is the least") }
        return try await list(prefix, info, limit: limit, cursor: cursor)
    }

    private func list(
        _ prefix: String,
        _ info: Set<ChannelAttribute>,
        limit: Int? = nil,
        cursor: String? = nil
    ) async throws(FanfareAPIError) -> ChannelPage {
        let parameters: [(name: String, value: String?)] = [
            ("cursor", cursor),
            ("filter_by_prefix", prefix.isEmpty ? nil : prefix),
            ("info", info.isEmpty ? nil : ChannelAttribute.list(info)),
            ("limit", limit.map(String.init)),
        ]
        let answer = try await call(
            "GET",
            "channels",
            parameters: parameters.compactMap { name, value in value.map { (name, $0) } },
            repetition: .harmless
        )
        let answers = try APIAnswers.decode(APIAnswers.self, from: answer)
        return ChannelPage(channels: answers.channels ?? [:], nextCursor: answers.nextCursor)
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
