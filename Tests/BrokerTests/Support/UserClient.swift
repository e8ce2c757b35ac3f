import PusherProtocol

@testable import Broker

/// A session whose effects are read as text.
final class UserClient {
    private var session: Session

    /// Creates a client of the app `app-key`, `1.2`.
    init(_ limits: AppLimits = AppLimits(), features: AppFeatures = AppFeatures()) {
        let app = App(
            id: AppID("1"),
            key: "app-key",
            secret: AppSecret("app-secret"),
            features: features,
            limits: limits
        )
        session = Session(socketID: SocketID(1, 2), app: app)
    }

    // `now` is in seconds.
    func receive(_ message: ClientMessage, now: Int64) -> [String] {
        text(session.receive(message, now: now * 1_000_000_000))
    }

    private func text(_ effects: Session.Effects) -> [String] {
        effects.compactMap { effect in
            switch effect {
            case .limitMet, .claimSession: nil
            case .send(let message): String(decoding: message.bytes, as: UTF8.self)
            case .join(let channel, let member, let request):
                "join \(channel.text)\(member.map { " as \($0.id)" } ?? "") \(request)"
            case .joinFrom(let position, let channel, let member, let request):
                "join \(channel.text)\(member.map { " as \($0.id)" } ?? "") \(request) from "
                    + (position.position?.description ?? "the present")
            case .leave(let channel): "leave \(channel.text)"
            case .publish(let event, let channel): "publish \(event.name) on \(channel.text)"
            case .signIn(let user): "sign in \(user)"
            case .watch(let users): "watch " + users.map(\.text).sorted().joined(separator: " ")
            case .unwatch(let users):
                "unwatch " + users.map(\.text).sorted().joined(separator: " ")
            case .slowDown: "slow down"
            case .claimQuota: "claim quota"
            case .close(let code, let message): "close \(code.rawValue) \(message)"
            }
        }
    }

    var user: UserID? { session.user }
    var watchedUsers: [UserID] { session.watchedUsers }
    var awaitsAuthorization: Bool { session.awaitsAuthorization }

    /// Signs in with a signature of the backend.
    func signIn(_ userData: String, secret: String = "app-secret") -> [String] {
        let auth = UserSignature.auth(
            socketID: session.socketID,
            userData: userData,
            key: "app-key",
            secret: AppSecret(secret)
        )
        return receive(.signin(auth: auth, userData: userData), now: 0)
    }

    /// Subscribes with a signature of the backend.
    func subscribe(_ channel: String, data: String? = nil, secret: String = "app-secret")
        -> [String]
    {
        let auth = ChannelSignature.auth(
            socketID: session.socketID,
            channel: channel,
            channelData: data,
            key: "app-key",
            secret: AppSecret(secret)
        )
        return receive(
            .subscribe(channel: channel, auth: auth, channelData: data),
            now: 0
        )
    }

    /// Returns the message to the client for a report of a home.
    func updatePresence(online: [String] = [], offline: [String] = []) -> String? {
        session.updatePresence(
            online: online.map { UserID($0) },
            offline: offline.map { UserID($0) }
        )
        .map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    func authorize() -> [String] { text(session.authorize()) }
}
