import Broker
import HTTP1
import HTTPServer
import Observability
import PusherProtocol
import Shard

/// A request to the HTTP API whose head was accepted; processes its body.
final class APIRequest: HTTPContentReceiver {
    /// The result of the check of the head: the request is signed and within the rates of its app.
    ///
    /// A reload while the body arrives does not change the app.
    struct Accepted {
        let app: App
        let match: Route.Match
        let parameters: QueryParameters
        /// Whether the parameters have a signature, which the body must match; a request of the console has none.
        var isSigned = true
    }

    private let core: ShardCore
    private let traces: EventTraces?
    /// Exclusive access is not checked: the value is taken out before anything is called.
    @exclusivity(unchecked) private var accepted: Accepted?

    /// Creates a receiver without a request.
    init(core: ShardCore, _ traces: EventTraces?) {
        self.core = core
        self.traces = traces
    }

    /// Starts a request, whose body is to come.
    func begin(_ accepted: consuming Accepted) { self.accepted = accepted }

    /// Answers the request, at once or when the homes of its channels have answered.
    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange) {
        guard let accepted = accepted.take() else { return }
        do throws(APIError) {
            try answer(accepted, head, body, exchange)
        } catch {
            exchange.respond(core.refuse(error, head, of: accepted.app, on: exchange.stream))
        }
    }

    private func answer(
        _ accepted: Accepted,
        _ head: RequestHead,
        _ body: Span<UInt8>,
        _ exchange: HTTPExchange
    ) throws(APIError) {
        if accepted.isSigned {
            try RequestSignature.verifyBody(body, parameters: accepted.parameters)
        }
        let call = APICall(
            app: accepted.app,
            core: core,
            traces: traces,
            head: head,
            parameters: accepted.parameters,
            exchange: exchange,
            match: accepted.match
        )
        try accepted.match.route.answer(call, body)
    }
}
