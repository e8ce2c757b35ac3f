import Broker
import HTTP1
import HTTPServer
import Net
import PusherProtocol

/// `POST /apps/{id}/events` and `/batch_events`: the triggers of backends.
///
/// A request is validated completely before any of it is published: all of its events are published, or none.
struct EventsAPI {
    private let app: App
    private let core: ShardCore

    /// The answer to nearly every trigger.
    private static let accepted = PreparedResponse(.json(APIAnswer.empty))

    init(_ app: App, _ core: ShardCore) {
        self.app = app
        self.core = core
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
        if let limit = core.channels.publishLimit { return refuseLater(limit, exchange) }
        let pending = core.channels.publish(CollectionOfOne(publication), of: app.id)
        guard let pending else { return answer(publication, exchange) }
        pending.whenSettled { [self] in
            if refuse($0, exchange) { answer(publication, exchange) }
        }
    }

    private func answer(_ publication: Publication, _ exchange: HTTPExchange) {
        guard !publication.info.isEmpty else { return exchange.respond(EventsAPI.accepted) }
        count([publication]) { counts in
            let channels = publication.channels.map {
                (name: $0, attributes: counts.attributes(publication.info, of: $0))
            }
            exchange.respond(.json(APIAnswer.channels(channels)))
        }
    }

    /// Publishes up to ten events, each on its own channel, in their order.
    func triggerBatch(_ body: Span<UInt8>, _ exchange: HTTPExchange) throws(APIError) {
        let publications = try TriggerRequest.parseBatch(body, limits: app.limits.texts)
        for publication in publications { try check(publication) }
        if let limit = core.channels.publishLimit { return refuseLater(limit, exchange) }
        let pending = core.channels.publish(publications, of: app.id)
        guard let pending else { return answer(publications, exchange) }
        pending.whenSettled { [self] in
            if refuse($0, exchange) { answer(publications, exchange) }
        }
    }

    private func answer(_ publications: [Publication], _ exchange: HTTPExchange) {
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

    /// Answers a trigger whose event the channel's home has refused.
    ///
    /// - Returns: Whether the event was accepted; then the request is still to be answered.
    private func refuse(_ outcome: PendingTrigger.Outcome, _ exchange: HTTPExchange) -> Bool {
        guard case .refused(let limit) = outcome else { return true }
        exchange.respond(Response(refusal: core.refusal(of: limit)))
        return false
    }

    /// Refuses a trigger because a limit is reached, after ``ChannelService/refusalDelay``.
    private func refuseLater(_ limit: Limit, _ exchange: HTTPExchange) {
        core.context.limitMet(limit)
        let refusal = DelayedAnswer(Response(refusal: core.refusal(of: limit)), on: exchange)
        core.context.reactor.schedule(after: ChannelService.refusalDelay, refusal)
    }

    /// Queries the subscriptions and users of the channels whose events request the counts.
    private func count(
        _ publications: [Publication],
        finish: @escaping (ChannelCounts) -> Void
    ) {
        let channels = Set(publications.lazy.filter { !$0.info.isEmpty }.flatMap(\.channels))
        let addresses = channels.map { ChannelAddress(app: app.id, name: $0) }
        core.queries.counts(of: addresses) { finish(ChannelCounts($0)) }
    }
}

extension ShardCore {
    /// The error of a trigger that is refused because a limit is reached.
    func refusal(of limit: Limit) -> APIError {
        guard limit == .triggerTime else {
            return APIError(
                status: 503,
                message: "The broker has more events than it can relay: try again in a second",
                limit: limit
            )
        }
        let seconds = context.settings.triggerTimeout.components.seconds
        return APIError(
            status: 503,
            message: "The channel's subscribers are slower than its events: the "
                + "event has waited for \(seconds) seconds and is not published, try again in a "
                + "second",
            limit: limit
        )
    }
}

/// A response that is sent when its timer fires.
private final class DelayedAnswer: TimerTarget {
    private let response: Response
    private let exchange: HTTPExchange

    init(_ response: Response, on exchange: HTTPExchange) {
        self.response = response
        self.exchange = exchange
    }

    func timerFired(tag: Int) { exchange.respond(response) }
}
