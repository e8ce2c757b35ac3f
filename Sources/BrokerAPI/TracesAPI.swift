import Broker
import HTTP1
import HTTPServer
import Observability
import Primitives
import PusherProtocol
import Shard

/// `/apps/{id}/traces`: what happens in an app, for whoever has its secret.
struct TracesAPI {
    private let app: App
    private let core: ShardCore
    private let traces: EventTraces?

    init(_ app: App, _ core: ShardCore, _ traces: EventTraces?) {
        self.app = app
        self.core = core
        self.traces = traces
    }

    /// `POST`: begins a trace, and answers its identifier when all shards record for it.
    func begin(_ parameters: QueryParameters, _ exchange: HTTPExchange) throws(APIError) {
        let filter = try filter(parameters)
        guard let traces else { throw APIError(noTrace: "") }
        guard let trace = traces.begin(of: app.id, filter) else {
            throw APIError(
                status: 429,
                message: "App \(app.id) has \(EventTraces.countMax) traces, the maximum: "
                    + "end one, or wait \(EventTraces.idleTime.components.seconds) seconds"
            )
        }
        core.deferredAnswers.answer(exchange.respond) {
            await traces.updateObservers()
            var writer = JSONWriter()
            writer.beginObject()
            writer.name("id")
            writer.string(trace.id)
            writer.endObject()
            return .json(writer.bytes)
        }
    }

    /// `GET`: what has happened since the last request.
    func read(_ id: String, _ exchange: HTTPExchange) throws(APIError) {
        exchange.respond(.json(try trace(id).takeBatch()))
    }

    /// `DELETE`: ends a trace.
    func end(_ id: String, _ exchange: HTTPExchange) throws(APIError) {
        let trace = try trace(id)
        guard let traces else { throw APIError(noTrace: id) }
        traces.end(trace)
        core.deferredAnswers.answer(exchange.respond) {
            await traces.updateObservers()
            return .json(Array("{}".utf8))
        }
    }

    private func trace(_ id: String) throws(APIError) -> EventTrace {
        guard let trace = traces?.find(id, of: app.id) else {
            throw APIError(noTrace: id)
        }
        return trace
    }

    private func filter(_ parameters: QueryParameters) throws(APIError) -> TraceFilter {
        var filter = TraceFilter(channel: parameters["channel"], event: parameters["event"])
        if let text = parameters["socket_id"] {
            guard let socketID = SocketID(text) else {
                throw APIError(
                    status: 400,
                    message: "Invalid socket_id: \(APIError.quote(text, lengthMax: 64))"
                )
            }
            filter.socketID = socketID
        }
        if let text = parameters["user_id"] {
            let limits = app.limits.texts
            guard text.withUTF8Bytes({ ChannelName.isValidUserID($0, limits: limits) }) else {
                throw APIError(
                    status: 400,
                    message: "Invalid user_id: \(APIError.quote(text, lengthMax: 64))"
                )
            }
            filter.user = UserID(text)
        }
        return filter
    }
}

extension APIError {
    /// The error of a request for a trace that there is not.
    fileprivate init(noTrace id: String) {
        self.init(
            status: 404,
            message: "No trace \(Self.quote(id, lengthMax: 64)): it has ended, or the broker was "
                + "restarted"
        )
    }
}
