/// The query of `GET /apps/ID/channels`.
public struct ChannelsQuery: Equatable, Sendable {
    /// The prefix of the names to list; empty for all.
    public var prefix: String
    /// The attributes to return for each channel.
    public var info: InfoAttributes
    /// The maximum number of channels in the response; `nil` for all.
    ///
    /// Like ``cursor``, an addition to the Pusher API.
    public var limit: Int?
    /// The name after which the list begins, the `next_cursor` of an earlier response; empty for the beginning.
    public var cursor: String

    /// Parses the parameters of a query.
    ///
    /// - Parameters:
    ///   - parameters: The parameters; unknown ones are ignored.
    ///   - countsSubscriptions: Whether the app has subscription counting enabled.
    ///   - limits: The maximum length of a channel name, which also applies to the prefix and the cursor.
    /// - Throws: 400 for an attribute that a list does not have.
    public init(
        _ parameters: QueryParameters,
        countsSubscriptions: Bool,
        limits: ProtocolLimits = ProtocolLimits()
    ) throws(APIError) {
        prefix = parameters["filter_by_prefix"] ?? ""
        let lengthMax = limits.channelNameLengthMax
        guard prefix.utf8.count <= lengthMax else {
            throw .badRequest("filter_by_prefix too long (\(prefix.utf8.count) > \(lengthMax))")
        }
        cursor = parameters["cursor"] ?? ""
        guard cursor.utf8.count <= lengthMax else {
            throw .badRequest("cursor too long (\(cursor.utf8.count) > \(lengthMax))")
        }
        if let text = parameters["limit"] {
            guard let limit = Int(text), limit > 0 else {
                throw .badRequest(
                    "Invalid limit: \(APIError.quote(text, lengthMax: 64)) (it must be 1 or more)"
                )
            }
            self.limit = limit
        }
        info = try InfoAttributes(listsIn: parameters)
        try info.checkForChannels(prefix: prefix, countsSubscriptions: countsSubscriptions)
    }
}

/// The query of `GET /apps/ID/channels/NAME`.
public struct ChannelQuery: Equatable, Sendable {
    /// The attributes to return.
    public var info: InfoAttributes

    /// Parses the parameters of a query.
    ///
    /// - Parameters:
    ///   - parameters: The parameters; unknown ones are ignored.
    ///   - kind: The kind of the channel in the path.
    ///   - countsSubscriptions: Whether the app has subscription counting enabled.
    /// - Throws: 400 for an attribute that the channel does not have.
    public init(
        _ parameters: QueryParameters,
        kind: ChannelKind,
        countsSubscriptions: Bool
    ) throws(APIError) {
        info = try InfoAttributes(listsIn: parameters)
        try info.checkForChannel(of: kind, countsSubscriptions: countsSubscriptions)
    }
}

/// The query of `GET /apps/ID/channels/NAME/users`, which has no parameters.
public enum UsersQuery {
    /// Checks that the channel in the path is a presence channel and that the query contains only the signature; throws
    /// 400.
    public static func check(
        _ parameters: QueryParameters,
        kind: ChannelKind
    ) throws(APIError) {
        guard kind.isPresence else {
            throw .badRequest("Users can only be retrieved for presence channels")
        }
        try parameters.refuseAllButSignature()
    }
}

extension QueryParameters {
    /// Checks that the query contains only the parameters of the signature; throws 400 with the names of the others.
    public func refuseAllButSignature() throws(APIError) {
        let extraneous = names.filter {
            !$0.utf8.elementsEqual("body_md5".utf8) && !$0.utf8.starts(with: "auth_".utf8)
        }
        guard extraneous.isEmpty else {
            let list = extraneous.prefix(8).map { String($0.unicodeScalars.prefix(64)) }
                .joined(separator: ", ")
            let shown = String(
                decoding: JSONWriter.token(list).dropFirst().dropLast(),
                as: UTF8.self
            )
            throw .badRequest("The following query string parameters are extraneous: \(shown)")
        }
    }
}

extension InfoAttributes {
    /// Parses every `info` of a query.
    fileprivate init(listsIn parameters: QueryParameters) throws(APIError) {
        try self.init(parameters.values(of: "info").joined(separator: ","))
    }
}
