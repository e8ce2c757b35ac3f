extension BrokerAPI {
    /// Lists the occupied channels.
    ///
    /// - Parameters:
    ///   - prefix: The prefix of the channels' names; empty for all.
    ///   - info: The attributes to return; ``ChannelAttribute/userCount`` requires a prefix that begins with
    ///     `presence-`.
    /// - Returns: The requested attributes by channel.
    /// - Throws: A ``FanfareAPIError``.
    public func channels(
        prefix: String = "",
        info: Set<ChannelAttribute> = []
    ) async throws(FanfareAPIError) -> [String: ChannelState] {
        try await list(prefix, info).channels
    }

    /// Lists one page of the occupied channels, in the order of their names.
    ///
    /// Read a long list page by page:
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
    /// An extension of the Pusher HTTP API by Fanfare: other servers return the whole list.
    ///
    /// - Parameters:
    ///   - prefix: The prefix of the channels' names; empty for all.
    ///   - info: The attributes to return; ``ChannelAttribute/userCount`` requires a prefix that begins with
    ///     `presence-`.
    ///   - limit: The most channels to return.
    ///   - cursor: The last page's ``ChannelPage/nextCursor``, or `nil` for the first page.
    /// - Returns: The page, with the cursor of the next one.
    /// - Throws: A ``FanfareAPIError``.
    public func channels(
        prefix: String = "",
        info: Set<ChannelAttribute> = [],
        limit: Int,
        after cursor: String? = nil
    ) async throws(FanfareAPIError) -> ChannelPage {
        guard limit > 0 else {
            throw .invalidArgument("The limit is \(limit); it must be at least 1")
        }
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
        let response = try await call(
            "GET",
            "channels",
            parameters: parameters.compactMap { name, value in value.map { (name, $0) } },
            retry: .idempotent
        )
        let list = try APIListResponse.decode(APIListResponse.self, from: response)
        return ChannelPage(channels: list.channels ?? [:], nextCursor: list.nextCursor)
    }

    /// Returns the state of one channel, occupied or not.
    ///
    /// - Parameters:
    ///   - name: The channel's name.
    ///   - info: The attributes to return; this kind of channel must have them.
    /// - Returns: The channel's state.
    /// - Throws: A ``FanfareAPIError``.
    public func channel(
        _ name: String,
        info: Set<ChannelAttribute> = []
    ) async throws(FanfareAPIError) -> ChannelState {
        guard !name.isEmpty else { throw .invalidArgument("The channel's name is empty") }
        let parameters =
            info.isEmpty ? [] : [(name: "info", value: ChannelAttribute.list(info))]
        let response = try await call(
            "GET",
            "channels/\(BrokerAPI.segment(name))",
            parameters: parameters,
            retry: .idempotent
        )
        return try APIListResponse.decode(ChannelState.self, from: response)
    }

    /// Lists the users on a presence channel.
    ///
    /// - Parameter channel: The channel's name.
    /// - Returns: Their IDs, each once.
    /// - Throws: A ``FanfareAPIError``.
    public func users(on channel: String) async throws(FanfareAPIError) -> [String] {
        guard !channel.isEmpty else { throw .invalidArgument("The channel's name is empty") }
        let response = try await call(
            "GET",
            "channels/\(BrokerAPI.segment(channel))/users",
            retry: .idempotent
        )
        return try APIListResponse.decode(APIListResponse.self, from: response).users?.map(\.id)
            ?? []
    }
}
