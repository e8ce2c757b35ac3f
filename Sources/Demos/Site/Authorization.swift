import Foundation
import HTTP1
import HTTPServer
import PusherProtocol

/// Authorises subscriptions to the demos' private and presence channels, and signs users in.
///
/// There is no authentication: a page chooses its user's ID and name. An app with accounts takes both from its session
/// instead.
struct Authorization: Sendable {
    /// The maximum length of a user's ID, in characters.
    static let userIDLengthMax = 64
    /// The maximum length of a user's name, in characters.
    static let userNameLengthMax = 60

    let key: String
    let secret: AppSecret
    /// The demos, whose channels may be joined.
    let demos: [Demo]
    let environment: DemoEnvironment

    private struct Member: Encodable {
        let user_id: String
        let user_info: Info
    }

    private struct User: Encodable {
        let id: String
        let user_info: Info
    }

    private struct Info: Encodable { let name: String }

    /// Answers the official clients' request: with `channel_name` for a subscription, without it for a sign-in.
    func answer(_ request: HTTPRequest) async throws -> Response {
        let fields = try RequestFields(request)
        let text = try fields.text("socket_id", limit: 50)
        guard let socketID = SocketID(text) else {
            throw RequestError.refused(400, "\(text) is not a socket ID such as 123.456.")
        }
        guard fields.has("channel_name") else { return try signIn(fields, socketID) }
        return try await subscribe(fields, socketID)
    }

    private func subscribe(
        _ fields: RequestFields,
        _ socketID: SocketID
    ) async throws -> Response {
        let channel = try fields.text("channel_name", limit: 200)
        guard let demo = demos.first(where: { $0.admits(channel) }),
            let name = try? ChannelName(channel)
        else {
            throw RequestError.refused(403, "No demo has a channel \(channel) to join.")
        }
        guard name.kind.isPresence else {
            let auth = ChannelSignature.auth(
                socketID: socketID,
                channel: channel,
                key: key,
                secret: secret
            )
            guard name.kind.isEncrypted else { return try .encoding(["auth": auth]) }
            let secret = try await demo.sharedSecret(channel, environment)
            return try .encoding(["auth": auth, "shared_secret": secret])
        }
        let (id, info) = try user(fields)
        let data = try JSONText.encode(Member(user_id: id, user_info: info))
        let auth = ChannelSignature.auth(
            socketID: socketID,
            channel: channel,
            channelData: data,
            key: key,
            secret: secret
        )
        return try .encoding(["auth": auth, "channel_data": data])
    }

    private func signIn(_ fields: RequestFields, _ socketID: SocketID) throws -> Response {
        let (id, info) = try user(fields)
        let data = try JSONText.encode(User(id: id, user_info: info))
        let auth = UserSignature.auth(
            socketID: socketID,
            userData: data,
            key: key,
            secret: secret
        )
        return try .encoding(["auth": auth, "user_data": data])
    }

    private func user(_ fields: RequestFields) throws(RequestError) -> (String, Info) {
        let id = try fields.text("user_id", limit: Self.userIDLengthMax)
        guard ChannelName.isValidUserID(Array(id.utf8).span) else {
            throw .refused(400, "The field user_id may have letters, digits and _-=@,.; only.")
        }
        return (id, Info(name: try fields.text("user_name", limit: Self.userNameLengthMax)))
    }
}

/// The key and secret of the demos' app, for signatures.
package struct SignedApp: Sendable {
    let key: String
    let secret: AppSecret

    /// Creates an app from its key and secret.
    package init(key: String, secret: String) {
        self.key = key
        self.secret = AppSecret(secret)
    }
}
