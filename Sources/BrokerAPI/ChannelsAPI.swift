import Broker
import HTTP1
import HTTPServer
import Primitives
import PusherProtocol
import Shard

/// `GET /apps/{id}/channels`, `/channels/{name}` and `/channels/{name}/users`: the queries of backends.
struct ChannelsAPI {
    private let app: App
    private let core: ShardCore

    init(_ app: App, _ core: ShardCore) {
        self.app = app
        self.core = core
    }

    /// Answers with the occupied channels that begin with `filter_by_prefix`, sorted by name.
    func list(_ parameters: QueryParameters, _ exchange: HTTPExchange) throws(APIError) {
        let query = try ChannelsQuery(
            parameters,
            countsSubscriptions: app.countsSubscriptions,
            limits: app.limits.texts
        )
        core.listings.list(query, of: app.id, isOpen: { exchange.isOpen }) { answer in
            switch answer {
            case .success(let list): exchange.respond(.json(list))
            case .failure(let error): exchange.respond(Response(refusal: error))
            }
        }
    }

    /// Answers with the attributes of one channel; a vacant channel is not an error.
    func describe(
        _ encodedName: String,
        _ parameters: QueryParameters,
        _ exchange: HTTPExchange
    ) throws(APIError) {
        let name = try app.channelName(encodedName)
        let query = try ChannelQuery(
            parameters,
            kind: name.kind,
            countsSubscriptions: app.countsSubscriptions
        )
        let address = ChannelAddress(app: app.id, name: name)
        let finish = { (answer: HomeAnswer) in
            guard let answer = core.success(of: answer, app, exchange) else { return }
            let counts = ChannelCounts(answer)
            var attributes = counts.attributes(query.info, of: name)
            attributes.position = attributes.position.map { position in
                position.map { app.issuedPosition($0, on: name) }
            }
            attributes.isOccupied = counts.isOccupied(name)
            exchange.respond(.json(APIAnswer.channel(attributes)))
        }
        if query.info.contains(.position) {
            core.queries.state(of: address, finish: finish)
        } else if query.info.contains(.cache) {
            core.queries.cache(of: address, finish: finish)
        } else {
            core.queries.counts(of: [address], finish: finish)
        }
    }

    /// Answers with the users on a presence channel, each once; an empty channel is not an error.
    func listUsers(
        _ encodedName: String,
        _ parameters: QueryParameters,
        _ exchange: HTTPExchange
    ) throws(APIError) {
        let name = try app.channelName(encodedName)
        try UsersQuery.check(parameters, kind: name.kind)
        core.queries.users(of: ChannelAddress(app: app.id, name: name)) { answer in
            guard let users = core.success(of: answer, app, exchange) else { return }
            exchange.respond(.json(APIAnswer.users(users.map(\.text))))
        }
    }

    /// Answers with the messages that a channel keeps, a page at a time.
    func listMessages(
        _ encodedName: String,
        _ parameters: QueryParameters,
        _ exchange: HTTPExchange
    ) throws(APIError) {
        let name = try app.channelName(encodedName)
        let query = try HistoryQuery(parameters)
        try app.checkRecovery()
        let address = ChannelAddress(app: app.id, name: name)
        let read = ArchiveRead()
        exchange.ended = { [weak read] in read?.cancel() }
        core.queries.history(query, of: address, read) { result in
            guard exchange.isOpen, let page = core.success(of: result, app, exchange) else {
                return
            }
            let last = app.issuedPosition(page.position, on: name)
            let asked = query.stream.map { ChannelPosition(stream: $0, serial: .max) }
                .map { app.position(issuedAs: $0, on: name).stream }
            guard asked ?? page.position.stream == page.position.stream else {
                let error = APIError(
                    status: 410,
                    message: "The channel's stream is \(last.stream), and no longer "
                        + (query.stream?.text ?? "")
                )
                return exchange.respond(Response(refusal: error))
            }
            exchange.respond(.json(APIAnswer.history(page, at: last, of: query)))
        }
    }

    /// Drops what a channel keeps, which goes on in another stream, and answers with its position.
    func purge(
        _ encodedName: String,
        _ parameters: QueryParameters,
        _ exchange: HTTPExchange
    ) throws(APIError) {
        try parameters.refuseAllButSignature()
        let name = try app.channelName(encodedName)
        try app.checkRecovery()
        core.queries.purge(ChannelAddress(app: app.id, name: name)) { answer in
            guard let position = core.success(of: answer, app, exchange) else { return }
            let issued = position.map { app.issuedPosition($0, on: name) }
            exchange.respond(.json(APIAnswer.purged(issued)))
        }
    }
}

/// The counts that the homes of channels have answered with.
struct ChannelCounts {
    private let channels: [ChannelName: ChannelCount]
    /// Whether the homes have answered.
    private let isKnown: Bool

    init(_ counts: [ChannelCount], isKnown: Bool = true) {
        self.isKnown = isKnown
        channels = Dictionary(counts.map { ($0.name, $0) }) { one, _ in one }
    }

    /// Whether a channel has subscribers.
    func isOccupied(_ channel: ChannelName) -> Bool {
        (channels[channel]?.subscriptionCount ?? 0) > 0
    }

    /// The requested attributes that apply to the channel.
    func attributes(_ info: InfoAttributes, of channel: ChannelName) -> ChannelAttributes {
        guard isKnown else { return ChannelAttributes() }
        let info = info.applying(to: channel.kind)
        let count = channels[channel]
        return ChannelAttributes(
            userCount: info.contains(.userCount) ? count?.userCount ?? 0 : nil,
            subscriptionCount: info.contains(.subscriptionCount)
                ? count?.subscriptionCount ?? 0 : nil,
            cache: info.contains(.cache) ? count?.cache ?? .empty : nil,
            position: info.contains(.position) ? .some(count?.position) : nil
        )
    }
}

/// `POST /apps/{id}/users/{user}/terminate_connections`: a backend closes a user's connections.
struct UsersAPI {
    private let app: App
    private let core: ShardCore

    init(_ app: App, _ core: ShardCore) {
        self.app = app
        self.core = core
    }

    /// Closes every connection that is signed in as the user; that there is none is not an error.
    ///
    /// A member of a presence channel with this ID that is not signed in stays.
    func terminate(
        _ encodedID: String,
        _ parameters: QueryParameters,
        _ exchange: HTTPExchange
    ) throws(APIError) {
        try parameters.refuseAllButSignature()
        let id = PercentEncoding.decode(encodedID) ?? encodedID
        let limits = app.limits.texts
        guard id.withUTF8Bytes({ ChannelName.isValidUserID($0, limits: limits) }) else {
            throw APIError(
                status: 400,
                message: "Invalid user id: \(APIError.quote(id)) "
                    + "(at most \(limits.userIDLengthMax) characters of A-Z a-z 0-9 _ - = @ , . ; "
                    + "are allowed)"
            )
        }
        if let limit = core.channels.publishLimit { throw core.refusal(of: limit) }
        let user = UserAddress(app: app.id, id: UserID(id))
        core.queries.terminate(user) { answer in
            guard core.success(of: answer, app, exchange) != nil else { return }
            exchange.respond(.json(APIAnswer.empty))
        }
    }
}
