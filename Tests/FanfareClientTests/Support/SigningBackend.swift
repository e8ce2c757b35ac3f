import Foundation
import HTTP1
import HTTPServer
import Net
import PusherProtocol
import Synchronization

/// An app's backend with an authorisation endpoint, for the app of `Configuration.development`.
final class SigningBackend: Sendable {
    /// A received request: the path, the channels and two header fields.
    struct Request: Sendable, Equatable {
        var path: String
        var channels: [String]
        var token: String?
        var contentType: String?
    }

    private struct State {
        var requests: [Request] = []
        var refusals: [Int] = []
    }

    private let service: HTTPService
    private let state: SharedState

    private final class SharedState: Sendable {
        let mutex = Mutex(State())
    }

    private struct NoAddress: Error {}

    /// Starts a backend.
    ///
    /// - Parameters:
    ///   - refusals: The statuses of the first responses.
    ///   - user: The user of presence channels and sign-ins.
    ///   - watchlist: The user's watchlist.
    ///   - tls: The TLS context; `nil` for no TLS.
    /// - Throws: When no port is available.
    init(
        refusing refusals: [Int] = [],
        user: String,
        watching watchlist: [String] = [],
        tls: TLSContext? = nil
    ) throws {
        let state = SharedState()
        state.mutex.withLock { $0.refusals = refusals }
        self.state = state
        guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else { throw NoAddress() }
        service = try HTTPService.start(on: [address], tls: tls) { request in
            let fields = Self.fields(of: request)
            let refusal = state.mutex.withLock { state in
                state.requests.append(
                    Request(
                        path: request.path,
                        channels: fields.channels,
                        token: request.field("X-Token"),
                        contentType: request.field("Content-Type")
                    )
                )
                return state.refusals.isEmpty ? nil : state.refusals.removeFirst()
            }
            if let refusal { return .text("not now", status: Status(refusal)) }
            let answer = Self.answer(to: request.path, fields, user: user, watchlist)
            guard let body = try? JSONSerialization.data(withJSONObject: answer) else {
                return .text("", status: 500)
            }
            return .json(Array(body))
        }
    }

    var requests: [Request] { state.mutex.withLock { $0.requests } }

    var port: UInt16 { service.addresses[0].port ?? 0 }

    func url(_ path: String) -> String {
        "http://127.0.0.1:\(port)\(path)"
    }

    func stop() async { await service.stop(within: .seconds(1)) }

    private struct Fields {
        var socketID = SocketID(0, 0)
        var channels: [String] = []
        var isAboutMany = false
    }

    private static func fields(of request: HTTPRequest) -> Fields {
        var fields = Fields()
        if request.field("Content-Type") == "application/json" {
            let object = try? JSONSerialization.jsonObject(with: Data(request.body))
            let members = object as? [String: Any]
            fields.socketID = SocketID(members?["socket_id"] as? String ?? "") ?? fields.socketID
            fields.isAboutMany = members?["channel_name"] is [String]
            fields.channels =
                members?["channel_name"] as? [String]
                ?? (members?["channel_name"] as? String).map { [$0] } ?? []
        } else if let form = request.form {
            fields.socketID = SocketID(form["socket_id"] ?? "") ?? fields.socketID
            fields.isAboutMany = form["channel_name[]"] != nil
            fields.channels = form.all("channel_name") + form.all("channel_name[]")
        }
        return fields
    }

    private static func answer(
        to path: String,
        _ fields: Fields,
        user: String,
        _ watchlist: [String]
    ) -> [String: Any] {
        let secret = AppSecret("app-secret")
        if path == "/user" {
            let watched = watchlist.map { "\"\($0)\"" }.joined(separator: ",")
            let data =
                "{\"id\":\"\(user)\",\"user_info\":{\"name\":\"\(user)!\"},\"watchlist\":[\(watched)]}"
            let auth = UserSignature.auth(
                socketID: fields.socketID,
                userData: data,
                key: "app-key",
                secret: secret
            )
            return ["auth": auth, "user_data": data]
        }
        func signed(_ channel: String) -> [String: Any] {
            let data =
                channel.hasPrefix("presence-") && path != "/nobody"
                ? "{\"user_id\":\"\(user)\",\"user_info\":{\"name\":\"\(user)!\"}}" : nil
            let auth = ChannelSignature.auth(
                socketID: fields.socketID,
                channel: channel,
                channelData: data,
                key: "app-key",
                secret: secret
            )
            var answer: [String: Any] = ["auth": auth]
            answer["channel_data"] = data
            return answer
        }
        guard fields.isAboutMany else { return signed(fields.channels.first ?? "") }
        return Dictionary(uniqueKeysWithValues: fields.channels.map { ($0, signed($0)) })
    }
}
