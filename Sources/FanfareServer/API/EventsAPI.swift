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

    /// The answer to nearly every trigger.
    private static let accepted = PreparedResponse(.json(APIAnswer.empty))

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
        try check(publication)
        try switchboard.checkRoom()
        publish(publication)
        guard !publication.info.isEmpty else { return exchange.respond(EventsAPI.accepted) }
        count([publication]) { counts in
            let channels = publication.channels.map {
                (name: $0, attributes: counts.attributes(publication.info, of: $0))
            }
            exchange.respond(.json(APIAnswer.channels(channels)))
        }
    }

    /// Publishes up to ten events, each on its own channel, in order.
    func triggerBatch(_ body: Span<UInt8>, _ exchange: HTTPExchange) throws(APIError) {
        let publications = try TriggerRequest.parseBatch(body, limits: app.limits.texts)
        for publication in publications { try check(publication) }
        try switchboard.checkRoom()
        for publication in publications { publish(publication) }
        count(publications) { counts in
            let events = publications.map { publication in
                publication.info.isEmpty
                    ? nil : counts.attributes(publication.info, of: publication.channels[0])
            }
            exchange.respond(.json(APIAnswer.batch(events)))
        }
    }

    private func check(_ publication: Publication) throws(APIError) {
        try publication.info.checkForTrigger(countsSubscriptions: app.countsSubscriptions)
    }

    private func publish(_ publication: Publication) {
        for channel in publication.channels {
            switchboard.publish(publication, on: ChannelAddress(app: app.id, name: channel))
        }
    }

    /// Counts the subscriptions and users of the channels whose events ask for it.
    private func count(
        _ publications: [Publication],
        finish: @escaping (ChannelCounts) -> Void
    ) {
        let channels = Set(publications.lazy.filter { !$0.info.isEmpty }.flatMap(\.channels))
        let addresses = channels.map { ChannelAddress(app: app.id, name: $0) }
        switchboard.inquireCounts(of: addresses) { finish(ChannelCounts($0)) }
    }
}

extension Switchboard {
    /// Checks that the shards keep up with what they are sent.
    func checkRoom() throws(APIError) {
        guard canPublish else {
            throw APIError(
                status: 503,
                message: "The broker has more events than it can relay: try again in a second",
                limit: .relayedEvents
            )
        }
    }
}
