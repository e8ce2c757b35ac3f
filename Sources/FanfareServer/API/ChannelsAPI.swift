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
        let prefix = parameters["filter_by_prefix"] ?? ""
        let info = try InfoAttributes(parameters["info"] ?? "")
        try info.checkForChannels(prefix: prefix, countsSubscriptions: app.countsSubscriptions)
        switchboard.inquireOccupiedChannels(of: app.id, prefix: prefix) { counts in
            var json = JSONWriter()
            json.beginObject()
            json.name("channels")
            json.beginObject()
            for count in counts.sorted(by: { $0.name.text < $1.name.text }) {
                json.name(count.name.text)
                json.attributes(info, of: count.name, [count.name: count.subscriptionCount])
            }
            json.endObject()
            json.endObject()
            exchange.respond(.json(json))
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
            throw APIError(status: 400, message: "Invalid channel name: \"\(text)\"")
        }
        let info = try InfoAttributes(parameters["info"] ?? "")
        try info.checkForChannel(of: name.kind, countsSubscriptions: app.countsSubscriptions)
        let address = ChannelAddress(app: app.id, name: name)
        switchboard.inquireSubscriptionCounts(of: [address]) { counts in
            let count = counts.first?.subscriptionCount ?? 0
            var json = JSONWriter()
            json.beginObject()
            json.name("occupied")
            json.boolean(count > 0)
            json.members(info, of: name, [name: count])
            json.endObject()
            exchange.respond(.json(json))
        }
    }
}

extension JSONWriter {
    /// Writes an object with the attributes that were asked for and apply to the channel.
    mutating func attributes(
        _ info: InfoAttributes,
        of channel: ChannelName,
        _ counts: [ChannelName: Int]
    ) {
        beginObject()
        members(info, of: channel, counts)
        endObject()
    }

    /// Writes the members of that object.
    mutating func members(
        _ info: InfoAttributes,
        of channel: ChannelName,
        _ counts: [ChannelName: Int]
    ) {
        if info.applying(to: channel.kind).contains(.subscriptionCount) {
            name("subscription_count")
            integer(counts[channel] ?? 0)
        }
    }
}
