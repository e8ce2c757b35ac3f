import Broker
import HTTP1
import HTTPServer
import Primitives
import PusherProtocol

/// `POST /apps/{id}/users/{user}/terminate_connections`: a backend closes a user's connections.
struct UsersAPI {
    private let app: App
    private let core: ShardCore

    init(_ app: App, _ core: ShardCore) {
        self.app = app
        self.core = core
    }

    /// Closes every connection that is signed in as the user; that there is none is not an error.
    ///
    /// A member of a presence channel with this ID that is not signed in stays.
    func terminate(
        _ encodedID: String,
        _ parameters: QueryParameters,
        _ exchange: HTTPExchange
    ) throws(APIError) {
        try parameters.refuseAllButSignature()
        let id = PercentEncoding.decode(encodedID) ?? encodedID
        let limits = app.limits.texts
        guard id.withUTF8Bytes({ ChannelName.isValidUserID($0, limits: limits) }) else {
            throw APIError(
                status: 400,
                message: "Invalid user id: \(APIError.quote(id)) "
                    + "(it may have \(limits.userIDLengthMax) characters out of A-Z a-z 0-9 _ - = @ , . ;)"
            )
        }
        if let limit = core.channels.publishLimit { throw core.refusal(of: limit) }
        core.users.terminate(UserAddress(app: app.id, id: UserID(id)))
        exchange.respond(.json(APIAnswer.empty))
    }
}
