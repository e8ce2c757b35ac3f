import Broker
import HTTP1
import HTTPServer
import PusherProtocol

/// `GET /apps/{id}/channels` and `/channels/{name}`: a backend asks what is going on.
struct ChannelsAPI {
    private let app: App
    private let switchboard: Switchboard

    init(_ app: App, _ switchboard: Switchboard) {
        self.app = app
        self.switchboard = switchboard
    }

    /// The occupied channels that begin with `filter_by_prefix`, in the order of their names.
    func list(_ parameters: QueryParameters, _ exchange: HTTPExchange) throws(APIError) {
        let query = try ChannelsQuery(
            parameters,
            countsSubscriptions: app.countsSubscriptions,
            limits: app.limits.texts
        )
        switchboard.inquireOccupiedChannels(of: app.id, prefix: query.prefix) { answer in
            let counts = ChannelCounts(answer)
            let names = answer.map(\.name).sorted { $0.text < $1.text }
            let channels = names.map {
                (name: $0, attributes: counts.attributes(query.info, of: $0))
            }
            exchange.respond(.json(APIAnswer.channels(channels)))
        }
    }

    /// One channel; a vacant one is not an error.
    func describe(
        _ encodedName: String,
        _ parameters: QueryParameters,
        _ exchange: HTTPExchange
    ) throws(APIError) {
        let text = PercentEncoding.decode(encodedName) ?? encodedName
        let name: ChannelName
        do throws(ChannelNameError) {
            name = try ChannelName(text, limits: app.limits.texts)
        } catch {
            throw APIError(status: 400, message: "Invalid channel name: \"\(text)\" (\(error))")
        }
        let query = try ChannelQuery(
            parameters,
            kind: name.kind,
            countsSubscriptions: app.countsSubscriptions
        )
        let address = ChannelAddress(app: app.id, name: name)
        switchboard.inquireSubscriptionCounts(of: [address]) { answer in
            let counts = ChannelCounts(answer)
            var attributes = counts.attributes(query.info, of: name)
            attributes.isOccupied = counts[name] > 0
            exchange.respond(.json(APIAnswer.channel(attributes)))
        }
    }
}

/// What the homes of channels have counted.
struct ChannelCounts {
    private let subscriptions: [ChannelName: Int]

    init(_ counts: [ChannelCount]) {
        subscriptions = Dictionary(counts.map { ($0.name, $0.subscriptionCount) }) { one, _ in one }
    }

    /// The subscriptions of a channel; 0 for one that nobody counted.
    subscript(channel: ChannelName) -> Int { subscriptions[channel] ?? 0 }

    /// The attributes that were asked for and apply to the channel.
    func attributes(_ info: InfoAttributes, of channel: ChannelName) -> ChannelAttributes {
        let info = info.applying(to: channel.kind)
        return ChannelAttributes(
            subscriptionCount: info.contains(.subscriptionCount) ? self[channel] : nil
        )
    }
}
