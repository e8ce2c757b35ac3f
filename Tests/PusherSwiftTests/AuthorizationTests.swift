import FanfareAPI
import FanfareClient
import FanfareTesting
import Foundation
import HTTP1
import HTTPServer
import Net
import PusherSwift
import Synchronization
import Testing

@Suite("PusherSwift: private channels", .timeLimit(.minutes(1))) @MainActor
struct AuthorizationTests {
    private func subscribed(
        _ broker: ScriptedBroker,
        _ options: PusherClientOptions,
        to channel: String = "private-a"
    ) async throws -> Pusher {
        let pusher = Pusher(key: "app-key", options: options)
        pusher.subscribe(channel)
        pusher.connect()
        try await broker.waitForSubscribers(to: channel)
        return pusher
    }

    @Test func areOpenedByAnEndpoint() async throws {
        let broker = ScriptedBroker.strict()
        let backend = try Backend(201)
        let options = broker.options(.endpoint(authEndpoint: backend.url))
        let pusher = try await subscribed(broker, options, to: "presence-a@b")
        try await broker.settle()
        #expect(pusher.connection.channels.findPresence(name: "presence-a@b")?.myId == "ann")
        #expect(
            backend.asked == [
                "POST application/x-www-form-urlencoded socket_id=1.1&channel_name=presence%2Da%40b"
            ]
        )
        await backend.stop()
    }

    @Test func areRetriedAfterATemporaryFailure() async throws {
        var settings = ScriptedBroker.Settings()
        settings.authorization = .signed
        // The clock advances while requests, which use real time, are in flight.
        settings.activityTimeout = .seconds(1_000_000)
        let broker = ScriptedBroker(settings)
        let backend = try Backend(500, 503)
        let options = broker.options(.endpoint(authEndpoint: backend.url))
        let configure = options.configure
        options.configure = { client in
            configure(&client)
            client.authorization.timeout = .seconds(1_000_000)
            client.network.connectTimeout = .seconds(1_000_000)
        }
        let pusher = Pusher(key: "app-key", options: options)
        pusher.connection.activityTimeoutInterval = 1_000_000
        pusher.subscribe("private-a")
        pusher.connect()
        // The delays are random parts of one and two seconds: advance the clock until the request is sent.
        try await broker.wait(for: "three attempts") {
            broker.clock.advance(by: .milliseconds(50))
            return backend.asked.count == 3
        }
        try await broker.waitForSubscribers(to: "private-a")
        #expect(backend.asked.count == 3)
        await backend.stop()
    }

    @Test func reportTheEndpointsRefusal() async throws {
        let broker = ScriptedBroker.strict()
        let backend = try Backend(403)
        let pusher = Pusher(
            key: "app-key",
            options: broker.options(.endpoint(authEndpoint: backend.url))
        )
        let notes = DelegateNotes()
        pusher.delegate = notes
        var seen: [String?] = []
        let channel = pusher.subscribe("private-a")
        channel.bind(eventName: "pusher:subscription_error") { (event: PusherEvent) in
            seen.append(event.data)
        }
        pusher.connect()
        try await broker.wait(for: "the refusal") { !notes.failures.isEmpty }
        #expect(seen == ["no entry"])
        #expect(
            notes.failures == [
                DelegateNotes.Failure(
                    channel: "private-a",
                    status: 403,
                    data: "no entry",
                    hasError: true
                )
            ]
        )
        #expect(!channel.subscribed && notes.subscribed.isEmpty)
        #expect(backend.asked.count == 1)
        await backend.stop()
    }

    @Test func areOpenedByARequestOfTheAppsOwn() async throws {
        final class Builder: AuthRequestBuilderProtocol {
            let url: String
            init(_ url: String) { self.url = url }
            func requestFor(socketID: String, channelName: String) -> URLRequest? {
                guard channelName == "private-a", let url = URL(string: url) else { return nil }
                var request = URLRequest(url: url)
                request.httpMethod = "POST"
                request.httpBody = Data("socket_id=\(socketID)&channel_name=\(channelName)".utf8)
                request.setValue("text/own", forHTTPHeaderField: "Content-Type")
                return request
            }
        }
        let broker = ScriptedBroker.strict()
        let backend = try Backend()
        let builder = Builder(backend.url)
        let options = broker.options(.authRequestBuilder(authRequestBuilder: builder))
        let pusher = try await subscribed(broker, options)
        #expect(backend.asked == ["POST text/own socket_id=1.1&channel_name=private-a"])
        let notes = DelegateNotes()
        pusher.delegate = notes
        pusher.subscribe("private-other")
        try await broker.wait(for: "the refusal") { !notes.failures.isEmpty }
        #expect(notes.failures.map(\.channel) == ["private-other"])
        await backend.stop()
    }

    @Test func areOpenedByAnAuthorizer() async throws {
        final class Keeper: Authorizer {
            let broker: ScriptedBroker
            init(_ broker: ScriptedBroker) { self.broker = broker }
            func fetchAuthValue(
                socketID: String,
                channelName: String,
                completionHandler: @escaping (PusherAuth?) -> Void
            ) {
                guard channelName == "presence-a" else { return completionHandler(nil) }
                let data = #"{"user_id":"7"}"#
                let auth = try? broker.authorization(of: socketID, for: channelName, as: data)
                completionHandler(PusherAuth(auth: auth ?? "", channelData: data))
                // A second call has no effect.
                completionHandler(nil)
            }
        }
        let broker = ScriptedBroker.strict()
        let keeper = Keeper(broker)
        let options = broker.options(.authorizer(authorizer: keeper))
        let pusher = try await subscribed(broker, options, to: "presence-a")
        #expect(broker.members(of: "presence-a") == ["7"])
        let notes = DelegateNotes()
        pusher.delegate = notes
        pusher.subscribe("private-a")
        try await broker.wait(for: "the refusal") { !notes.failures.isEmpty }
        #expect(notes.failures.map(\.channel) == ["private-a"])
    }

    @Test("The secret authorises them, with a key in any letter case")
    func areOpenedByTheSecret() async throws {
        var settings = ScriptedBroker.Settings()
        settings.authorization = .signed
        settings.key = "App-KEY"
        let broker = ScriptedBroker(settings)
        let options = broker.options(.inline(secret: settings.secret))
        let pusher = Pusher(key: settings.key, options: options)
        pusher.subscribe("private-a")
        pusher.connect()
        try await broker.waitForSubscribers(to: "private-a")
        // The method set at the time of the authorisation is used.
        pusher.connection.options.authMethod = .noMethod
        let notes = DelegateNotes()
        pusher.delegate = notes
        pusher.subscribe("private-b")
        try await broker.wait(for: "the refusal") { !notes.failures.isEmpty }
        #expect(broker.subscribers(of: "private-b").isEmpty)
    }

    @Test func useAPassedSignature() async throws {
        let broker = ScriptedBroker.strict()
        let pusher = Pusher(key: "app-key", options: broker.options())
        pusher.connect()
        try await broker.waitForConnections()
        try await broker.settle()
        let socketID = try #require(pusher.connection.socketId)
        let auth = PusherAuth(auth: try broker.authorization(of: socketID, for: "private-a"))
        let channel = pusher.subscribe("private-a", auth: auth)
        #expect(channel.auth === auth)
        try await broker.waitForSubscribers(to: "private-a")
        try await broker.settle()
        #expect(channel.subscribed && channel.auth == nil)
    }

    @Test func reportTheBrokersRefusal() async throws {
        let broker = ScriptedBroker.strict()
        let pusher = Pusher(key: "app-key", options: broker.options(.inline(secret: "other")))
        let notes = DelegateNotes()
        pusher.delegate = notes
        var seen: [String] = []
        pusher.subscribe("private-a").bind(eventName: "pusher:subscription_error") { event in
            seen.append(event.data ?? "")
        }
        pusher.connect()
        try await broker.wait(for: "the refusal") { !notes.failures.isEmpty }
        #expect(seen.count == 1 && seen[0].contains("Invalid signature"))
        #expect(notes.failures.first?.data == seen[0])
    }
}

/// A backend that authorises Ann, after responses with the given statuses.
private final class Backend: Sendable {
    private let service: HTTPService
    private let desk: Desk

    var url: String { "http://127.0.0.1:\(service.addresses.first?.port ?? 0)/auth" }
    var asked: [String] { desk.state.withLock { $0.asked } }

    init(_ statuses: Int...) throws {
        let desk = try Desk(statuses)
        self.desk = desk
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        service = try HTTPService.start(on: [address]) { desk.answer($0) }
    }

    func stop() async { await service.stop(within: .zero) }

    private final class Desk: Sendable {
        let state: Mutex<(statuses: [Int], asked: [String])>
        private let api: BrokerAPI

        init(_ statuses: [Int]) throws {
            state = Mutex((statuses, []))
            api = try BrokerAPI(
                appID: "1",
                key: "app-key",
                secret: "app-secret",
                url: "http://127.0.0.1:1"
            )
        }

        func answer(_ request: HTTPRequest) -> Response {
            let status = state.withLock { state in
                let type = request.field("Content-Type") ?? ""
                let body = String(decoding: request.body, as: UTF8.self)
                state.asked.append("\(request.method) \(type) \(body)")
                return state.statuses.isEmpty ? 200 : state.statuses.removeFirst()
            }
            guard status < 300 else { return .text("no entry", status: Status(status)) }
            guard let question = try? GrantRequest(request.body),
                let channel = try? question.channel,
                let grant = try? api.authorize(channel, for: question.socketID, as: "ann")
            else { return .text("what?", status: 400) }
            return .json(Array(grant.json.utf8), status: Status(status))
        }
    }
}
