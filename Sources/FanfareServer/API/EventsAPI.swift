import Broker
import HTTP1
import HTTPServer
import PusherProtocol

/// `POST /apps/{id}/events` and `/batch_events`: a backend triggers events.
///
/// A request is checked whole before any of it is published: all of its events go out, or none.
struct EventsAPI {
    private let app: App
    private let switchboard: Switchboard

    init(_ app: App, _ switchboard: Switchboard) {
        self.app = app
        self.switchboard = switchboard
    }

    /// Publishes one event on up to 100 channels.
    func trigger(
        _ body: Span<UInt8>,
        _ parameters: QueryParameters,
        _ exchange: HTTPExchange
    ) throws(APIError) {
        let publication = try TriggerRequest.parse(
            body,
            parameters: parameters,
            limits: app.limits.texts
        )
        try publish([publication])
        guard !publication.info.isEmpty else { return exchange.respond(.emptyObject) }
        count([publication]) { counts in
            var json = JSONWriter()
            json.beginObject()
            json.name("channels")
            json.beginObject()
            for channel in publication.channels {
                json.name(channel.text)
                json.attributes(publication.info, of: channel, counts)
            }
            json.endObject()
            json.endObject()
            exchange.respond(.json(json))
        }
    }

    /// Publishes up to ten events, each on its own channel, in order.
    func triggerBatch(_ body: Span<UInt8>, _ exchange: HTTPExchange) throws(APIError) {
        let publications = try TriggerRequest.parseBatch(body, limits: app.limits.texts)
        try publish(publications)
        guard publications.contains(where: { !$0.info.isEmpty }) else {
            return exchange.respond(.emptyObject)
        }
        count(publications) { counts in
            var json = JSONWriter()
            json.beginObject()
            json.name("batch")
            json.beginArray()
            for publication in publications {
                json.attributes(publication.info, of: publication.channels[0], counts)
            }
            json.endArray()
            json.endObject()
            exchange.respond(.json(json))
        }
    }

    private func publish(_ publications: [Publication]) throws(APIError) {
        for publication in publications {
            try publication.info.checkForTrigger(countsSubscriptions: app.countsSubscriptions)
        }
        guard switchboard.canPublish else {
            throw APIError(
                status: 503,
                message: "The broker has more events than it can relay: try again in a second"
            )
        }
        for publication in publications {
            for channel in publication.channels {
                switchboard.publish(publication, on: ChannelAddress(app: app.id, name: channel))
            }
        }
    }

    /// Counts the subscriptions of all channels that ask for it.
    private func count(
        _ publications: [Publication],
        finish: @escaping ([ChannelName: Int]) -> Void
    ) {
        let channels = Set(publications.lazy.filter { !$0.info.isEmpty }.flatMap(\.channels))
        let addresses = channels.map { ChannelAddress(app: app.id, name: $0) }
        switchboard.inquireSubscriptionCounts(of: addresses) { counts in
            finish(Dictionary(counts.map { ($0.name, $0.subscriptionCount) }) { first, _ in first })
        }
    }
}
