import Dispatch
internal import FanfareClient
import Foundation
import PusherProtocol

/// Authorises channels by the method in the options.
// SAFETY: the connection is set once, before the first request. The app's objects are called on the main queue or the
// callback queue, as the app expects.
final class Authorization: @unchecked Sendable {
    weak var connection: PusherConnection?

    /// Requests the signature for a channel by the current method; throws an `AuthorizationFailure`.
    func authorize(_ channel: String, _ socketID: String) async throws -> ChannelAuthorization {
        guard let connection else { throw AuthorizationFailure.notConfigured }
        switch connection.options.authMethod {
        case .noMethod: throw AuthorizationFailure.notConfigured
        case .inline(let secret): return try await sign(channel, socketID, secret, connection)
        case .endpoint(let endpoint):
            guard let request = Self.request(to: endpoint, channel, socketID) else {
                throw AuthorizationFailure.invalidEndpoint(endpoint)
            }
            return try await fetch(request, channel, connection)
        case .authRequestBuilder(let builder):
            // SAFETY: both are only used on the main queue.
            nonisolated(unsafe) let builder = builder
            nonisolated(unsafe) let object = connection.channels.find(name: channel)
            let request = await MainActor.run {
                builder.requestFor(socketID: socketID, channelName: channel)
                    ?? object.flatMap { object in
                        builder.requestFor(socketID: socketID, channel: object) as URLRequest?
                    }
            }
            guard let request else {
                throw AuthorizationFailure.malformed(
                    "the authRequestBuilder returned no request for \(channel)"
                )
            }
            return try await fetch(request, channel, connection)
        case .authorizer(let authorizer):
            // SAFETY: as above.
            nonisolated(unsafe) let authorizer = authorizer
            let auth = await withCheckedContinuation { continuation in
                let once = OnceContinuation(continuation)
                DispatchQueue.main.async {
                    MainActor.assumeIsolated {
                        authorizer.fetchAuthValue(
                            socketID: socketID,
                            channelName: channel,
                            completionHandler: { once.resume($0) }
                        )
                    }
                }
            }
            guard let auth else {
                throw AuthorizationFailure.malformed(
                    "the authorizer returned nothing for \(channel)"
                )
            }
            return auth.authorization
        }
    }

    // MARK: Inline

    private func sign(
        _ channel: String,
        _ socketID: String,
        _ secret: String,
        _ connection: PusherConnection
    ) async throws -> ChannelAuthorization {
        guard let id = SocketID(socketID) else { throw AuthorizationFailure.outdated }
        var data: String?
        if PusherChannelType.isPresenceChannel(name: channel) {
            data = await member(socketID, connection)
        }
        let auth = ChannelSignature.auth(
            socketID: id,
            channel: channel,
            channelData: data,
            key: connection.key,
            secret: AppSecret(secret)
        )
        return ChannelAuthorization(auth: auth, channelData: data)
    }

    /// Returns the member for a presence channel: the app's, or one whose ID is the socket ID.
    private func member(_ socketID: String, _ connection: PusherConnection) async -> String {
        guard let fetcher = connection.userDataFetcher else {
            return Self.text(of: ["user_id": socketID]) ?? "{}"
        }
        // SAFETY: the closure is only called on the callback queue.
        nonisolated(unsafe) let fetch = fetcher
        return await withCheckedContinuation { continuation in
            connection.options.callbackQueue.async {
                let member = fetch()
                var object: [String: Any] = ["user_id": member.userId]
                if let info = member.userInfo { object["user_info"] = info }
                let text = Self.text(of: object) ?? Self.text(of: ["user_id": member.userId])
                continuation.resume(returning: text ?? "{}")
            }
        }
    }

    /// Returns an object as JSON; `nil` when it contains values that JSON cannot represent.
    private static func text(of object: [String: Any]) -> String? {
        guard JSONSerialization.isValidJSONObject(object) else { return nil }
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
        return data.map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Over HTTP

    private static func request(
        to endpoint: String,
        _ channel: String,
        _ socketID: String
    ) -> URLRequest? {
        guard let url = URL(string: endpoint), url.host != nil else { return nil }
        let name = channel.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue(
            "application/x-www-form-urlencoded",
            forHTTPHeaderField: "Content-Type"
        )
        request.httpBody = Data("socket_id=\(socketID)&channel_name=\(name)".utf8)
        return request
    }

    private struct Response: Decodable {
        var auth: String
        var channel_data: String?
        var shared_secret: String?
    }

    private func fetch(
        _ request: URLRequest,
        _ channel: String,
        _ connection: PusherConnection
    ) async throws -> ChannelAuthorization {
        let outcome = await withCheckedContinuation { continuation in
            let task = connection.URLSession.dataTask(with: request) { data, response, error in
                let body = data.map { String(decoding: $0, as: UTF8.self) }
                let outcome = AuthOutcome(response: response, data: body, error: error as NSError?)
                continuation.resume(returning: outcome)
            }
            task.resume()
        }
        connection.outcomes.store(outcome, of: channel)
        guard outcome.error == nil, let response = outcome.response as? HTTPURLResponse else {
            let reason = outcome.error?.localizedDescription ?? "the response is not HTTP"
            throw AuthorizationFailure.unreachable(reason)
        }
        let body = outcome.data ?? ""
        guard response.statusCode == 200 || response.statusCode == 201 else {
            throw AuthorizationFailure.refused(status: response.statusCode, body: body)
        }
        guard
            let content = try? JSONDecoder().decode(Response.self, repairing: Data(body.utf8))
        else {
            throw AuthorizationFailure.malformed(
                "the response for \(channel) is not a JSON object with \"auth\""
            )
        }
        return ChannelAuthorization(
            auth: content.auth,
            channelData: content.channel_data,
            sharedSecret: content.shared_secret
        )
    }
}

/// A backend's response, for the delegate.
// SAFETY: the three values are not changed after this is created.
struct AuthOutcome: @unchecked Sendable {
    var response: URLResponse?
    var data: String?
    var error: NSError?
}

/// The last response for each channel that has not been reported yet.
// SAFETY: the table is only accessed under `lock`.
final class AuthOutcomes: @unchecked Sendable {
    private let lock = NSLock()
    private var table: [String: AuthOutcome] = [:]

    func store(_ outcome: AuthOutcome, of channel: String) {
        lock.withLock { table[channel] = outcome }
    }

    func remove(_ channel: String) -> AuthOutcome? {
        lock.withLock { table.removeValue(forKey: channel) }
    }
}

/// A continuation that an app may resume more than once; only the first call has an effect.
// SAFETY: the continuation is only accessed under `lock`.
private final class OnceContinuation: @unchecked Sendable {
    private let lock = NSLock()
    private var continuation: CheckedContinuation<PusherAuth?, Never>?

    init(_ continuation: CheckedContinuation<PusherAuth?, Never>) {
        self.continuation = continuation
    }

    func resume(_ auth: PusherAuth?) {
        let continuation = lock.withLock { () -> CheckedContinuation<PusherAuth?, Never>? in
            defer { self.continuation = nil }
            return self.continuation
        }
        continuation?.resume(returning: auth)
    }
}
