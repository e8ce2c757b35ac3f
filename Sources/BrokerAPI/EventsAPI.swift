import Broker
import HTTP1
import HTTPServer
import Net
import PusherProtocol
import Shard

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
        guard head.hasIdempotencyKey,
            let text = head.field("idempotency-key") ?? head.field("x-idempotency-key")
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
        try check(&publication)
        let publications = [publication]
        if let limit = limit(of: publications) { return refuseLater(limit, publications, exchange) }
        switch core.channels.publish(publications, of: app.id) {
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
        if let refusal = refusal(of: outcome, publication.channels) {
            return exchange.respond(refusal)
        }
        let isRepeated = outcome.isRepeated
        guard !publication.info.isEmpty else {
            return exchange.respond(isRepeated ? EventsAPI.repeated : EventsAPI.accepted)
        }
        count([publication]) { counts in
            var positions = outcome.positions
            let channels = publication.channels.map {
                (name: $0, attributes: counts.attributes(of: publication, on: $0, app, &positions))
            }
            exchange.respond(.json(APIAnswer.channels(channels, isRepeated: isRepeated)))
        }
    }

    /// Publishes up to ten events, each on its own channel, in their order.
    func triggerBatch(_ body: Span<UInt8>, _ exchange: HTTPExchange) throws(APIError) {
        var publications = try TriggerRequest.parseBatch(body, limits: app.limits.texts)
        for index in publications.indices where publications[index].key == nil {
            publications[index].key = try key?.ofEvent(index)
        }
        for index in publications.indices { try check(&publications[index]) }
        if let limit = limit(of: publications) { return refuseLater(limit, publications, exchange) }
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
        let channels = publications.flatMap(\.channels)
        if let refusal = refusal(of: outcome, channels) { return exchange.respond(refusal) }
        count(publications) { counts in
            var positions = outcome.positions
            let events = publications.map { publication in
                publication.info.isEmpty
                    ? nil
                    : counts.attributes(
                        of: publication,
                        on: publication.channels[0],
                        app,
                        &positions
                    )
            }
            exchange.respond(.json(APIAnswer.batch(events, isRepeated: outcome.isRepeated)))
        }
    }

    /// Checks a publication against the app's features, and its condition for a position of the app's.
    private func check(_ publication: inout Publication) throws(APIError) {
        try publication.info.checkForTrigger(countsSubscriptions: app.countsSubscriptions)
        guard publication.ifPosition == nil || app.recovery.isEnabled else {
            throw APIError(
                status: 400,
                message: "App \(app.id) has no positions: recovery.enabled is false"
            )
        }
        if let position = publication.ifPosition, let channel = publication.channels.first {
            publication.ifPosition = app.position(issuedAs: position, on: channel)
        }
        guard publication.isDurable else { return }
        for channel in publication.channels where !core.context.isStored(channel, of: app) {
            throw APIError(
                status: 400,
                message:
                    "Channel \(channel.text) is kept in memory: durable needs a rule with store: "
                    + "sqlite"
            )
        }
    }

    /// The limit that prevents publishing these events at present.
    private func limit(of publications: [Publication]) -> Limit? {
        core.channels.publishLimit ?? core.channels.archiveLimit(of: publications, app)
    }

    /// The answer to a trigger that is refused; `nil` if its events are published.
    private func refusal(
        of outcome: PendingTrigger.Outcome,
        _ channels: [ChannelName]
    ) -> Response? {
        switch outcome {
        case .accepted, .repeated, .positioned: return nil
        case .refused(let limit): return refuse(core.refusal(of: limit), channels)
        case .conflicting:
            let error = APIError(
                status: 422,
                message: "Another event was published with this idempotency_key"
            )
            return refuse(error, channels)
        case .outdated(let position):
            // A condition is of a single event on a single channel.
            let issued = channels.first.flatMap { channel in
                position.map { app.issuedPosition($0, on: channel) }
            }
            return Response(outdatedBehind: issued)
        case .unavailable(let refusal):
            return refuse(APIError(status: 503, message: refusal.text), channels)
        case .unstored:
            let error = APIError(
                status: 503,
                message:
                    "The archive cannot be written at present: an event of the request is not "
                    + "published, try again in a second"
            )
            return refuse(error, channels)
        }
    }

    /// Reports a refusal, and returns its response.
    private func refuse(_ error: APIError, _ channels: [ChannelName]) -> Response {
        var refusal: Refusal {
            var refusal = Refusal(.request, reason: error.message)
            refusal.code = error.status
            refusal.channel = channels.map(\.text).joined(separator: ", ")
            refusal.limit = error.limit
            return refusal
        }
        core.context.refused(of: app.id, refusal)
        return Response(refusal: error)
    }

    /// Refuses a trigger because a limit is reached, after ``Outcomes/refusalDelay``.
    private func refuseLater(
        _ limit: Limit,
        _ publications: some Collection<Publication>,
        _ exchange: HTTPExchange
    ) {
        core.context.limitMet(limit, of: app.id)
        let response = refuse(core.refusal(of: limit), publications.flatMap(\.channels))
        let refusal = DelayedAnswer(response, on: exchange)
        core.context.reactor.schedule(after: Outcomes.refusalDelay, refusal)
    }

    /// Queries the subscriptions and users of the channels whose events request the counts.
    private func count(
        _ publications: [Publication],
        finish: @escaping (ChannelCounts) -> Void
    ) {
        // The homes have told the positions already.
        let counted = publications.lazy.filter { !$0.info.subtracting(.position).isEmpty }
        let channels = Set(counted.flatMap(\.channels))
        let addresses = channels.map { ChannelAddress(app: app.id, name: $0) }
        core.queries.counts(of: addresses) { answer in
            // The events are published, so a refusal would have them repeated: the counts are left out.
            let counts = try? answer.get()
            finish(ChannelCounts(counts ?? [], isKnown: counts != nil))
        }
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
            message: "The channel's subscribers read too slowly: the event has waited \(seconds) "
                + "seconds and is not published, try again in a second",
            limit: limit
        )
    }
}

extension Response {
    /// The response to a trigger with `if_position` whose channel has gone on.
    ///
    /// - Parameter position: The channel's last position.
    fileprivate init(outdatedBehind position: ChannelPosition?) {
        let error = APIError(
            status: 412,
            message: "The event is not published: the channel's last position is "
                + "\(position.map { "\($0)" } ?? "unknown"), not if_position; load the "
                + "changes, then trigger again with that position"
        )
        self.init(refusal: error)
        if let position { fields.append(Field("Fanfare-Position", "\(position)")) }
    }
}

extension ChannelCounts {
    /// The attributes that an event's publisher requested of one of its channels.
    ///
    /// - Parameters:
    ///   - publication: The event.
    ///   - channel: The channel.
    ///   - app: The channel's app.
    ///   - positions: The positions of the events that are not answered yet.
    /// - Returns: The attributes.
    fileprivate func attributes(
        of publication: Publication,
        on channel: ChannelName,
        _ app: App,
        _ positions: inout PublishedPositions
    ) -> ChannelAttributes {
        var attributes = attributes(publication.info, of: channel)
        if publication.info.contains(.position) {
            let position = positions.popFirst(on: channel)
            attributes.position = .some(position.map { app.issuedPosition($0, on: channel) })
        }
        return attributes
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
