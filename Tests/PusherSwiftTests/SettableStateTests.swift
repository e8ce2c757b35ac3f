import FanfareClient
import FanfareTesting
import Foundation
import PusherSwift
import Testing

@Suite("PusherSwift: state set by the app", .timeLimit(.minutes(1))) @MainActor
struct SettableStateTests {
    private func connected(
        _ broker: ScriptedBroker,
        to channel: String,
        as number: Int = 1
    ) async throws -> Pusher {
        let options = broker.options(.inline(secret: broker.settings.secret))
        let pusher = Pusher(key: "app-key", options: options)
        pusher.subscribe(channel)
        pusher.connect()
        try await broker.waitForSubscribers(number, to: channel)
        try await broker.settle()
        return pusher
    }

    @Test("A set value is returned until the connection changes")
    func stateIsReadUntilTheConnectionChanges() async throws {
        let broker = ScriptedBroker()
        let pusher = try await connected(broker, to: "a")
        let connection = pusher.connection
        let channel = try #require(connection.channels.find(name: "a"))
        #expect(channel.subscribed)
        channel.subscribed = false
        connection.socketId = "7.7"
        connection.connectionState = .disconnecting
        #expect(!channel.subscribed && connection.socketId == "7.7")
        #expect(connection.connectionState == .disconnecting)
        // Nothing is sent to the broker.
        #expect(broker.subscribers(of: "a").count == 1)
        broker.cut()
        try await broker.settle()
        #expect(connection.connectionState == .reconnecting && connection.socketId == nil)
        channel.subscribed = true
        try await broker.advance(by: .seconds(121))
        try await broker.waitForSubscribers(to: "a")
        try await broker.settle()
        #expect(channel.subscribed && connection.socketId == broker.connections.first?.socketID)
        #expect(connection.connectionState == .connected)
        pusher.disconnect()
    }

    @Test func setMembersAreReturnedUntilAChange() async throws {
        let broker = ScriptedBroker()
        let ann = try await connected(broker, to: "presence-a")
        let channel = try #require(ann.connection.channels.findPresence(name: "presence-a"))
        let id = try #require(channel.myId)
        channel.members = []
        channel.myId = "ben"
        #expect(channel.members.isEmpty && channel.me() == nil)
        #expect(channel.findMember(userId: id) == nil)
        let other = try await connected(broker, to: "presence-a", as: 2)
        try await broker.settle()
        #expect(channel.members.count == 2 && channel.myId == id)
        for pusher in [ann, other] { pusher.disconnect() }
    }

    @Test func callbacksAreTakenOutAndPutBack() async throws {
        let broker = ScriptedBroker()
        let pusher = try await connected(broker, to: "a")
        let channel = try #require(pusher.connection.channels.find(name: "a"))
        let global = try #require(pusher.connection.globalChannel)
        var seen: [String] = []
        channel.bind(eventName: "e") { event in seen.append("1 \(event.data ?? "")") }
        channel.bind(eventName: "e") { event in seen.append("2 \(event.data ?? "")") }
        pusher.bind { (event: PusherEvent) in seen.append("all \(event.data ?? "")") }
        let (bound, everywhere) = (channel.eventHandlers, global.globalCallbacks)
        try broker.trigger("e", on: ["a"], text: "x")
        try await broker.settle()
        channel.eventHandlers["e"]?.removeFirst()
        global.globalCallbacks = [:]
        try broker.trigger("e", on: ["a"], text: "y")
        try await broker.settle()
        channel.eventHandlers = bound
        global.globalCallbacks = everywhere
        try broker.trigger("e", on: ["a"], text: "z")
        try await broker.settle()
        #expect(seen == ["all x", "1 x", "2 x", "2 y", "all z", "1 z", "2 z"])
        global.unbindAll()
        #expect(global.globalCallbacks.isEmpty)
        pusher.disconnect()
    }

    @Test func eventsThatWaitAreTakenOutAndPutIn() async throws {
        let broker = ScriptedBroker()
        let options = broker.options(.inline(secret: broker.settings.secret))
        let pusher = Pusher(key: "app-key", options: options)
        let channel = pusher.subscribe("private-a")
        for number in 1...3 { channel.trigger(eventName: "client-n", data: [number]) }
        #expect(channel.unsentEvents.map { $0.data as? [Int] } == [[1], [2], [3]])
        channel.unsentEvents.remove(at: 1)
        channel.unsentEvents.append(QueuedClientEvent(name: "client-n", data: [4]))
        #expect(channel.unsentEvents.map { $0.data as? [Int] } == [[1], [3], [4]])
        pusher.connect()
        try await broker.wait(for: "the events") {
            broker.clientEvents("client-n", on: "private-a").count == 3
        }
        #expect(broker.clientEvents("client-n", on: "private-a") == ["[1]", "[3]", "[4]"])
        #expect(channel.unsentEvents.isEmpty)
        pusher.disconnect()
    }

    @Test("Unsent events are those queued in the client")
    func unsentEventsAreThoseOfTheClient() async throws {
        let broker = ScriptedBroker()
        let pusher = try await connected(broker, to: "private-a")
        let channel = try #require(pusher.connection.channels.find(name: "private-a"))
        for number in 0..<20 { channel.trigger(eventName: "client-n", data: [number]) }
        // A broker allows ten in a second; the client sends eight in a burst.
        #expect(channel.unsentEvents.count == 12)
        #expect(channel.unsentEvents.first?.data as? [Int] == [8])
        try await broker.advance(by: .seconds(1))
        try await broker.advance(by: .seconds(2))
        try await broker.wait(for: "the rest") {
            broker.clientEvents("client-n", on: "private-a").count == 20
        }
        #expect(channel.unsentEvents.isEmpty)
        pusher.disconnect()
    }

    @Test func channelsThatAnAppMakesAreSubscribedTo() async throws {
        let broker = ScriptedBroker()
        let pusher = Pusher(key: "app-key", options: broker.options())
        let connection = pusher.connection
        var seen: [String] = []
        func add(_ name: String) {
            let channel = PusherChannel(name: name, connection: connection)
            channel.bind(eventName: "e") { event in seen.append(event.channelName ?? "") }
            connection.channels.channels[name] = channel
        }
        add("a")
        pusher.connect()
        try await broker.waitForSubscribers(to: "a")
        add("b")
        broker.cut()
        try await broker.settle()
        try await broker.advance(by: .seconds(121))
        try await broker.waitForSubscribers(to: "b")
        try broker.trigger("e", on: ["a", "b"], text: "1")
        try await broker.settle()
        #expect(seen == ["a", "b"])
        connection.channels.channels["a"] = nil
        try broker.trigger("e", on: ["a", "b"], text: "2")
        try await broker.settle()
        #expect(seen == ["a", "b", "b"])
        pusher.disconnect()
    }

    @Test func aConnectionUsesItsURL() async throws {
        let broker = ScriptedBroker()
        let options = PusherClientOptions(host: .host("elsewhere.test"), useTLS: true)
        options.configure = { $0.clock = broker.clock.clientClock }
        let connection = PusherConnection(
            key: "app-key",
            socket: broker.transport,
            url: "ws://broker.test:6001/prefix/app/app-key?protocol=7",
            options: options
        )
        #expect(connection.url == "ws://broker.test:6001/prefix/app/app-key")
        let channel = PusherChannel(name: "a", connection: connection)
        connection.channels.channels["a"] = channel
        connection.connect()
        try await broker.waitForSubscribers(to: "a")
        try await broker.settle()
        #expect(channel.subscribed && connection.connectionState == .connected)
        connection.disconnect()
    }

    @Test(arguments: ["ws://h/app/other", "h/app/app-key", "ftp://h/app/app-key", ""])
    func aURLOfAnotherFormTraps(url: String) async {
        await #expect(processExitsWith: .failure) { [url] in
            _ = PusherConnection(key: "app-key", url: url, options: PusherClientOptions())
        }
    }

    @Test func messagesToTheBrokerAreSentAsTheyAre() async throws {
        let broker = ScriptedBroker()
        let pusher = try await connected(broker, to: "a")
        let notes = DelegateNotes()
        pusher.delegate = notes
        let connection = pusher.connection
        connection.sendEvent(event: "pusher:subscribe", data: ["channel": "b"])
        try await broker.waitForSubscribers(to: "b")
        connection.sendEvent(event: "pusher:own", data: "text")
        try await broker.settle()
        #expect(broker.actions.last?.kind == .fault("unknown event pusher:own"))
        let count = broker.actions.count
        connection.sendEvent(event: "pusher:own", data: Date())
        connection.sendEvent(event: "pusher:own", data: String(repeating: "x", count: 10_240))
        connection.sendEvent(event: "client-own", data: 1)
        pusher.disconnect()
        connection.sendEvent(event: "pusher:own", data: 1)
        try await broker.settle()
        // Only the end of the connection.
        #expect(broker.actions.count == count + 1)
        let lines = notes.log.filter { $0.contains("was not sent") }
        #expect(lines.count == 4, "\(notes.log)")
        #expect(lines.contains { $0.hasSuffix("its data has 10242 bytes of 10240 allowed") })
    }
}
