import Broker
import HTTP1
import HTTPServer
import Primitives
import PusherProtocol
import Shard

/// `GET /apps/{id}/channels/{name}/messages/{serial}/delivery`: why somebody did not get a message.
struct DeliveryAPI {
    private let app: App
    private let core: ShardCore

    init(_ app: App, _ core: ShardCore) {
        self.app = app
        self.core = core
    }

    /// Answers what became of a message for a connection, for a user, or for how many clients.
    func explain(
        _ encodedName: String,
        _ serialText: String,
        _ parameters: QueryParameters,
        _ exchange: HTTPExchange
    ) throws(APIError) {
        let name = try app.channelName(encodedName)
        guard let serial = UInt64(serialText), serial <= ChannelPosition.serialMax else {
            throw APIError(
                invalid:
                    "Invalid serial: \(APIError.quote(serialText, lengthMax: 64)) (it must be a "
                    + "number from 0 to \(ChannelPosition.serialMax))"
            )
        }
        let subject = try subject(parameters)
        try app.checkRecovery()
        let address = ChannelAddress(app: app.id, name: name)
        core.queries.trace(serial, of: address) { result in
            guard let message = core.success(of: result, app, exchange) else { return }
            let report = DeliveryReport(
                subject: subject,
                message: message,
                calendarOffset: core.context.calendarOffset
            )
            guard let message, message.isPublished else {
                return exchange.respond(.json(report.json(DeliveryFindings())))
            }
            let search = DeliverySearch(address: address, message: message, subject: subject)
            core.deliveries.search(search) { exchange.respond(.json(report.json($0))) }
        }
    }

    private func subject(_ parameters: QueryParameters) throws(APIError) -> DeliverySearch.Subject {
        switch (parameters["socket_id"], parameters["user_id"]) {
        case (nil, nil): return .everyone
        case (let text?, nil):
            guard let socketID = SocketID(text) else {
                throw APIError(invalid: "Invalid socket_id: \(APIError.quote(text, lengthMax: 64))")
            }
            return .socket(socketID)
        case (nil, let text?):
            let limits = app.limits.texts
            guard text.withUTF8Bytes({ ChannelName.isValidUserID($0, limits: limits) }) else {
                throw APIError(invalid: "Invalid user_id: \(APIError.quote(text, lengthMax: 64))")
            }
            return .user(UserID(text))
        case (_?, _?): throw APIError(invalid: "Give socket_id or user_id, not both")
        }
    }
}

extension App {
    /// The name of a channel in the path of a request.
    func channelName(_ encoded: String) throws(APIError) -> ChannelName {
        let text = PercentEncoding.decode(encoded) ?? encoded
        do throws(ChannelNameError) {
            return try ChannelName(text, limits: limits.texts)
        } catch {
            throw APIError(
                status: 400,
                message: "Invalid channel name: \(APIError.quote(text)) (\(error))",
                limit: error.limit
            )
        }
    }

    /// Refuses a request about kept messages of an app that keeps none.
    func checkRecovery() throws(APIError) {
        guard recovery.isEnabled else { throw APIError(withoutRecovery: id) }
    }
}

extension ShardCore {
    /// Returns what a query was answered with; refuses the request, and returns `nil`, if no home can answer it.
    func success<Value>(
        of answer: Result<Value, QueryFailure>,
        _ app: App,
        _ exchange: HTTPExchange
    ) -> Value? {
        switch answer {
        case .success(let value): return value
        case .failure(let failure):
            exchange.respond(refusal(of: failure, app))
            return nil
        }
    }

    /// The response to a query for what a channel keeps that its home cannot answer.
    func refusal(of failure: QueryFailure, _ app: App) -> Response {
        switch failure {
        case .keepsNothing where context.registry.apps[app.id] == nil:
            Response(refusal: APIError(unknownApp: app.id.text))
        case .keepsNothing: Response(refusal: APIError(withoutRecovery: app.id))
        case .redisUnreadable: Response(refusal: .redisUnreadable)
        case .archiveUnreadable:
            Response(
                refusal: APIError(
                    status: 503,
                    message: "The archive cannot be read at present: try again in a second"
                )
            )
        }
    }
}

extension APIError {
    /// The error of a request for an app that is not served.
    init(unknownApp id: String) { self.init(status: 404, message: "No app has the ID \(id)") }

    /// The error of a request for kept messages of an app that keeps none.
    fileprivate init(withoutRecovery id: AppID) {
        self.init(status: 400, message: "App \(id) keeps no messages: recovery.enabled is false")
    }

    /// The error of a request with a wrong value.
    fileprivate init(invalid message: String) { self.init(status: 400, message: message) }
}
