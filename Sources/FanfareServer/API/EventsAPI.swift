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
    /// The key of the request's field, for events without one of their own.
    private let key: IdempotencyKey?

    /// The answer to nearly every trigger.
    private static let accepted = PreparedResponse(.json(APIAnswer.empty))

    /// The answer to nearly every repeated trigger.
    private static let repeated = PreparedResponse(.json(APIAnswer.repeated))

    /// Begins to answer a request.
    ///
    /// - Parameters:
    ///   - app: The app that has signed it.
    ///   - core: The shard that has received it.
    ///   - head: Its head, which may have an `Idempotency-Key`.
    /// - Throws: 400 for an invalid key.
    init(_ app: App, _ core: ShardCore, _ head: RequestHead) throws(APIError) {
        self.app = app
        self.core = core
        guard let text = head.field("idempotency-key") ?? head.field("x-idempotency-key")
        else {
            key = nil
            return
        }
        guard let key = IdempotencyKey(text) else { throw .invalidIdempotencyKey }
        self.key = key
    }

    /// Publishes one event on up to 100 channels.
    func trigger(
        _ body: Span<UInt8>,
        _ parameters: QueryParameters,
        _ exchange: HTTPExchange
    ) throws(APIError) {
        var publication = try TriggerRequest.parse(
            body,
            parameters: parameters,
            limits: app.limits.texts
        )
        publication.key = publication.key ?? key
        try check(publication)
        if let limit = core.channels.publishLimit { return refuseLater(limit, exchange) }
        switch core.channels.publish(CollectionOfOne(publication), of: app.id) {
        case .settled(let outcome): answer(publication, outcome, exchange)
        case .pending(let pending):
            pending.whenSettled { [self, publication] in answer(publication, $0, exchange) }
        }
    }

    private func answer(
        _ publication: Publication,
        _ outcome: PendingTrigger.Outcome,
        _ exchange: HTTPExchange
    ) {
        guard let isRepeated = isRepeated(outcome, exchange) else { return }
        guard !publication.info.isEmpty else {
            return exchange.respond(isRepeated ? EventsAPI.repeated : EventsAPI.accepted)
        }
        count([publication]) { counts in
            let channels = publication.channels.map {
                (name: $0, attributes: counts.attributes(publication.info, of: $0))
            }
            exchange.respond(.json(APIAnswer.channels(channels)))
        }
    }

    /// Publishes up to ten events, each on its own channel, in their order.
    func triggerBatch(_ body: Span<UInt8>, _ exchange: HTTPExchange) throws(APIError) {
        var publications = try TriggerRequest.parseBatch(body, limits: app.limits.texts)
        for index in publications.indices where publications[index].key == nil {
            publications[index].key = try key?.ofEvent(index)
        }
        for publication in publications { try check(publication) }
        if let limit = core.channels.publishLimit { return refuseLater(limit, exchange) }
        switch core.channels.publish(publications, of: app.id) {
        case .settled(let outcome): answer(publications, outcome, exchange)
        case .pending(let pending):
            pending.whenSettled { [self, publications] in answer(publications, $0, exchange) }
        }
    }

    private func answer(
        _ publications: [Publication],
        _ outcome: PendingTrigger.Outcome,
        _ exchange: HTTPExchange
    ) {
        guard isRepeated(outcome, exchange) != nil else { return }
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

    /// Answers a trigger that is refused.
    ///
    /// - Returns: Whether the events were published before; `nil` for a refused trigger.
    private func isRepeated(
        _ outcome: PendingTrigger.Outcome,
        _ exchange: HTTPExchange
    ) -> Bool? {
        switch outcome {
        case .accepted: return false
        case .repeated: return true
        case .refused(let limit): exchange.respond(Response(refusal: core.refusal(of: limit)))
        case .conflicting:
            let error = APIError(
                status: 422,
                message: "Another event was published under this idempotency_key"
            )
            exchange.respond(Response(refusal: error))
        }
        return nil
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
