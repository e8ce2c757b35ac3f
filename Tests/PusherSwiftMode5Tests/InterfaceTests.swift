import Foundation
import PusherSwift
import Testing

// Every public type and call of the official client with its types, in the order of its documentation. The file is
// compiled in language mode 5 and, by a link, in mode 6. Other tests cover the behaviour; this one checks that an app
// with these calls compiles and runs.

@Suite("PusherSwift: the official API") @MainActor struct InterfaceTests {
    /// An app can subclass each open class and observe its variables.
    private class OwnChannel: PusherChannel {
        var notes: [String] = []
        override var subscribed: Bool { didSet { notes.append("subscribed \(subscribed)") } }
        override var unsentEvents: [QueuedClientEvent] { didSet { notes.append("unsent") } }
        override var eventHandlers: [String: [EventHandler]] { didSet { notes.append("bound") } }
        override func trigger(eventName: String, data: Any) { notes.append(eventName) }
    }
    private class OwnPusher: Pusher {
        override func connect() {}
    }
    private class OwnPresence: PusherPresenceChannel {
        override var myId: String? { didSet {} }
        override var members: [PusherPresenceChannelMember] { didSet {} }
    }

    @Test func ofAClient() throws {
        let pusher = Pusher(key: "app-key", options: PusherClientOptions())
        let plain: Pusher = Pusher(key: "app-key")
        let own: Pusher = OwnPusher(key: "app-key")
        own.connect()
        let connection: PusherConnection = plain.connection
        #expect(connection.key == "app-key")
        let delegate: (any PusherDelegate)? = pusher.delegate
        #expect(delegate == nil)
        let added: (PusherPresenceChannelMember) -> Void = { _ in }
        let counted: (Int) -> Void = { _ in }
        let auth = PusherAuth(auth: "app-key:signature")
        let channel: PusherChannel = pusher.subscribe("a")
        let same: PusherChannel = pusher.subscribe(
            "a",
            auth: auth,
            onMemberAdded: added,
            onMemberRemoved: added,
            onSubscriptionCountChanged: counted
        )
        #expect(channel === same)
        let named: PusherChannel = pusher.subscribe(
            channelName: "a",
            auth: nil,
            onMemberAdded: added,
            onMemberRemoved: added,
            onSubscriptionCountChanged: counted
        )
        #expect(named === channel)
        let presence: PusherPresenceChannel = pusher.subscribeToPresenceChannel(
            channelName: "presence-a",
            auth: nil,
            onMemberAdded: added,
            onMemberRemoved: added,
            onSubscriptionCountChanged: counted
        )
        #expect(presence.type == .presence)
        let newer: String = pusher.bind(eventCallback: { (_: PusherEvent) -> Void in })
        let older: String = pusher.bind({ (_: Any?) -> Void in })
        #expect(newer != older)
        pusher.unbind(callbackId: newer)
        pusher.unbindAll()
        pusher.unsubscribe("a")
        pusher.unsubscribeAll()
        #expect(pusher.connection.channels.channels.isEmpty)
        pusher.disconnect()
    }

    @Test func ofAChannel() throws {
        let pusher = Pusher(key: "app-key")
        let channel = OwnChannel(
            name: "private-a",
            connection: pusher.connection,
            auth: PusherAuth(auth: "a:b"),
            onSubscriptionCountChanged: { (_: Int) -> Void in }
        )
        let (name, type): (String, PusherChannelType) = (channel.name, channel.type)
        #expect(name == "private-a" && type == .private)
        let connection: PusherConnection? = channel.connection
        #expect(connection === pusher.connection)
        channel.connection = pusher.connection
        let auth: PusherAuth? = channel.auth
        #expect(auth?.auth == "a:b")
        channel.auth = nil
        let count: Int? = channel.subscriptionCount
        #expect(count == nil)
        channel.subscriptionCount = 2
        channel.onSubscriptionCountChanged = nil
        channel.subscribed = true
        #expect(channel.subscribed == true)
        let newer: String = channel.bind(eventName: "e", eventCallback: { (_: PusherEvent) in })
        channel.bind(eventName: "e", callback: { (_: Any?) -> Void in })
        // A trailing closure without types resolves to the newer API.
        channel.bind(eventName: "e") { event in _ = event.eventName }
        let handlers: [String: [EventHandler]] = channel.eventHandlers
        #expect(handlers["e"]?.count == 3)
        channel.unbind(eventName: "e", callbackId: newer)
        channel.unbindAll(forEventName: "e")
        channel.eventHandlers = handlers
        #expect(channel.eventHandlers["e"]?.count == 3)
        channel.unbindAll()
        let unsent: [QueuedClientEvent] = channel.unsentEvents
        channel.unsentEvents = unsent
        channel.trigger(eventName: "client-e", data: ["a": 1])
        #expect(channel.notes == ["subscribed true", "bound", "unsent", "client-e"])
    }

    @Test func ofKindsOfChannels() {
        let kind: PusherChannelType = PusherChannelType(name: "private-encrypted-a")
        #expect(kind == .private)
        #expect(PusherChannelType.type(forName: "presence-a") == .presence)
        #expect(PusherChannelType.isPresenceChannel(name: "a") == false)
        #expect(PusherChannelType(name: "presence") == .normal)
    }

    @Test func ofPresence() {
        let pusher = Pusher(key: "app-key")
        let channel = OwnPresence(name: "presence-a", connection: pusher.connection)
        channel.onMemberAdded = { (_: PusherPresenceChannelMember) -> Void in }
        channel.onMemberRemoved = nil
        let info: PusherUserInfoObject = ["name": "Ann" as AnyObject]
        let ann = PusherPresenceChannelMember(userId: "ann", userInfo: info)
        let (id, its): (String, Any?) = (ann.userId, ann.userInfo)
        #expect(id == "ann" && (its as? [String: AnyObject])?["name"] as? String == "Ann")
        #expect(channel.members.isEmpty && channel.myId == nil && channel.me() == nil)
        channel.members = [ann]
        channel.members.append(PusherPresenceChannelMember(userId: "ben"))
        channel.myId = "ann"
        let (found, me) = (channel.findMember(userId: "ben"), channel.me())
        #expect(channel.members.count == 2 && found?.userId == "ben" && me === ann)
    }

    @Test func ofAConnection() throws {
        let options = PusherClientOptions(host: .host("h"), useTLS: false)
        let connection = PusherConnection(
            key: "app-key",
            socket: nil,
            url: "ws://h:80/app/app-key?client=pusher-websocket-swift&version=10.1.5&protocol=7",
            options: options,
            URLSession: URLSession.shared
        )
        let short = PusherConnection(key: "k", url: "wss://h/p/app/k", options: options)
        let (url, key): (String, String) = (short.url, short.key)
        #expect(url == "wss://h/p/app/k" && key == "k")
        #expect(connection.options === options)
        connection.options = PusherClientOptions()
        let global: GlobalChannel = try #require(connection.globalChannel)
        connection.globalChannel = global
        connection.socketId = "1.1"
        #expect(connection.socketId == "1.1")
        #expect(connection.connectionState == .disconnected)
        connection.connectionState = .connected
        #expect(connection.connectionState == .connected)
        let channels: PusherChannels = connection.channels
        connection.channels = channels
        let channel = PusherPresenceChannel(name: "presence-a", connection: connection)
        channels.channels["presence-a"] = channel
        let (found, presence): (PusherChannel?, PusherPresenceChannel?) =
            (channels.find(name: "presence-a"), channels.findPresence(name: "presence-a"))
        #expect(found === channel && presence === channel)
        connection.URLSession = URLSession(configuration: .ephemeral)
        connection.userDataFetcher = { PusherPresenceChannelMember(userId: "ann") }
        connection.reconnectAttemptsMax = nil
        connection.reconnectAttemptsMax = 6
        connection.reconnectAttempts = 1
        #expect(connection.reconnectAttempts == 1)
        connection.maxReconnectGapInSeconds = nil
        connection.pongResponseTimeoutInterval = 1.5
        connection.activityTimeoutInterval = 60
        connection.delegate = nil
        connection.sendEvent(event: "client-e", data: 1, channel: channel)
        connection.sendEvent(event: "e", data: ["a": 1])
        connection.disconnect()
        let callbacks: [String: (PusherEvent) -> Void] = global.globalCallbacks
        global.globalCallbacks = callbacks
        global.unbindAll()
    }

    @Test(arguments: [
        (ConnectionState.connecting, 0, "connecting"), (.connected, 1, "connected"),
        (.disconnecting, 2, "disconnecting"), (.disconnected, 3, "disconnected"),
        (.reconnecting, 4, "reconnecting"),
    ])
    func ofStates(state: ConnectionState, number: Int, name: String) {
        #expect(state.rawValue == number && state.stringValue() == name)
        switch state {
        case .connecting, .connected, .disconnecting, .disconnected, .reconnecting: break
        }
    }

    @Test func ofOptions() {
        let options = PusherClientOptions(
            authMethod: .inline(secret: "s"),
            attemptToReturnJSONObject: false,
            autoReconnect: false,
            host: .cluster("eu"),
            port: 8443,
            path: "/p",
            useTLS: true,
            activityTimeout: 30
        )
        options.authMethod = .noMethod
        let (parses, reconnects, secure): (Bool, Bool, Bool) =
            (options.attemptToReturnJSONObject, options.autoReconnect, options.useTLS)
        #expect(!parses && !reconnects && secure)
        let (host, port, path): (String, Int, String?) = (options.host, options.port, options.path)
        #expect(host == "ws-eu.pusher.com" && port == 8443 && path == "/p")
        let timeout: TimeInterval? = options.activityTimeout
        #expect(timeout == 30)
        let standard: PusherHost = .defaultHost
        #expect(standard.stringValue == "ws.pusherapp.com")
        let plain = PusherClientOptions(useTLS: false)
        #expect(plain.port == 80 && PusherClientOptions().port == 443)
    }

    @Test func ofAuthorisation() {
        final class Builder: AuthRequestBuilderProtocol {
            func requestFor(socketID: String, channelName: String) -> URLRequest? { nil }
        }
        final class Keeper: Authorizer {
            func fetchAuthValue(
                socketID: String,
                channelName: String,
                completionHandler: @escaping (PusherAuth?) -> Void
            ) { completionHandler(nil) }
        }
        let methods: [AuthMethod] = [
            .endpoint(authEndpoint: "https://example.com/auth"),
            .authRequestBuilder(authRequestBuilder: Builder()),
            .authorizer(authorizer: Keeper()),
            .inline(secret: "s"),
            .noMethod,
        ]
        for method in methods {
            switch method {
            case .endpoint, .authRequestBuilder, .authorizer, .inline, .noMethod: break
            }
        }
        let auth = PusherAuth(auth: "a:b", channelData: "{}", sharedSecret: "c2VjcmV0")
        let (data, secret): (String?, String?) = (auth.channelData, auth.sharedSecret)
        #expect(auth.auth == "a:b" && data == "{}" && secret == "c2VjcmV0")
    }

    @Test("Of a delegate, each member of which is optional") func ofADelegate() {
        final class Silent: PusherDelegate {}
        final class Talkative: PusherDelegate {
            func debugLog(message: String) {}
            func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {}
            func subscribedToChannel(name: String) {}
            func failedToSubscribeToChannel(
                name: String,
                response: URLResponse?,
                data: String?,
                error: NSError?
            ) {}
            func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {}
            func receivedError(error: PusherError) {
                let (code, message): (Int?, String) = (error.code, error.message)
                _ = (code, message)
            }
        }
        let pusher = Pusher(key: "app-key")
        let (silent, talkative) = (Silent(), Talkative())
        pusher.delegate = silent
        #expect(pusher.connection.delegate === silent)
        pusher.connection.delegate = talkative
        #expect(pusher.delegate === talkative)
    }
}
