import FanfareClient
import FanfareTesting
import Foundation
import PusherSwift
import Testing

@Suite("PusherSwift: the connection", .timeLimit(.minutes(1))) @MainActor
struct ConnectionTests {
    private func connected(
        _ broker: ScriptedBroker,
        _ options: PusherClientOptions? = nil
    ) async throws -> (pusher: Pusher, notes: DelegateNotes) {
        let pusher = Pusher(key: "app-key", options: options ?? broker.options())
        let notes = DelegateNotes()
        pusher.delegate = notes
        pusher.subscribe("a")
        pusher.connect()
        try await broker.waitForSubscribers(to: "a")
        try await broker.settle()
        return (pusher, notes)
    }

    @Test func reconnectsAndCallsItsDelegate() async throws {
        let broker = ScriptedBroker()
        let (pusher, notes) = try await connected(broker)
        #expect(pusher.connection.connectionState == .connected)
        broker.cut()
        try await broker.settle()
        #expect(pusher.connection.connectionState == .reconnecting)
        try await broker.advance(by: .seconds(121))
        try await broker.waitForSubscribers(to: "a")
        try await broker.settle()
        #expect(
            notes.states == [
                "disconnected connecting", "connecting connected", "connected reconnecting",
                "reconnecting connecting", "connecting connected",
            ]
        )
        #expect(notes.subscribed == ["a", "a"])
        #expect(pusher.connection.reconnectAttempts == 0)
        #expect(notes.log.allSatisfy { $0.hasPrefix("[PUSHER ") })
        #expect(notes.log.contains { $0.hasPrefix("[PUSHER DEBUG] subscribed to a") })
    }

    @Test func stopsAfterTheMostAttempts() async throws {
        let broker = ScriptedBroker()
        let pusher = Pusher(key: "app-key", options: broker.options())
        pusher.connection.reconnectAttemptsMax = 1
        pusher.connection.maxReconnectGapInSeconds = 2
        broker.reception = .unreachable(reason: "away")
        pusher.connect()
        try await broker.settle()
        #expect(pusher.connection.connectionState == .reconnecting)
        try await broker.advance(by: .seconds(2))
        // The client is disconnected a moment before the callback that counts its attempts has run.
        try await broker.wait(for: "the end") {
            pusher.connection.connectionState == .disconnected
                && pusher.connection.reconnectAttempts == 1
        }
        broker.reception = .accept
        pusher.connect()
        try await broker.waitForConnections()
    }

    @Test func doesNotReconnectWhenSwitchedOff() async throws {
        let broker = ScriptedBroker()
        let (pusher, _) = try await connected(broker, broker.options(autoReconnect: false))
        broker.cut()
        try await broker.settle()
        #expect(pusher.connection.connectionState == .disconnected)
    }

    @Test("Disconnecting works in every state, and connecting again after it")
    func isClosedForGood() async throws {
        let broker = ScriptedBroker()
        let (pusher, notes) = try await connected(broker)
        broker.cut()
        try await broker.settle()
        pusher.disconnect()
        try await broker.advance(by: .seconds(600))
        #expect(broker.connections.isEmpty)
        #expect(pusher.connection.connectionState == .disconnected)
        #expect(notes.states.last == "reconnecting disconnected")
        pusher.connect()
        try await broker.waitForSubscribers(to: "a")
        pusher.disconnect()
        pusher.disconnect()
        #expect(broker.connections.isEmpty)
    }

    @Test func obeysTheRangeOfACloseCode() async throws {
        let broker = ScriptedBroker()
        let (pusher, _) = try await connected(broker)
        // An unlisted close code.
        try broker.close(code: 4250)
        try await broker.waitForSubscribers(to: "a")
        try broker.close(code: 4150)
        try await broker.settle()
        #expect(pusher.connection.connectionState == .reconnecting)
        try await broker.advance(by: .milliseconds(999))
        #expect(broker.connections.isEmpty)
        try await broker.advance(by: .seconds(120))
        try await broker.waitForSubscribers(to: "a")
        try broker.close(code: 4050)
        try await broker.settle()
        #expect(pusher.connection.connectionState == .disconnected)
    }

    @Test func answersAPingOfTheBroker() async throws {
        let broker = ScriptedBroker()
        let (pusher, _) = try await connected(broker)
        let socketID = try #require(pusher.connection.socketId)
        try broker.send(#"{"event":"pusher:ping","data":{}}"#, to: socketID)
        try await broker.settle()
        #expect(broker.actions.last?.kind == .pong)
    }

    @Test func usesTheTimesThatAreSet() async throws {
        let broker = ScriptedBroker()
        let options = PusherClientOptions(host: .host("h"), useTLS: false, activityTimeout: 20)
        options.configure = broker.options().configure
        let pusher = Pusher(key: "app-key", options: options)
        #expect(pusher.connection.activityTimeoutInterval == 20)
        pusher.connection.pongResponseTimeoutInterval = 3
        pusher.connection.maxReconnectGapInSeconds = 1
        pusher.connect()
        try await broker.waitForConnections()
        try await broker.settle()
        broker.isSilent = true
        broker.clock.advance(by: .seconds(20))
        try await broker.clock.waitForSleep(of: .seconds(3))
        broker.clock.advance(by: .seconds(3))
        try await broker.clock.waitForSleep(of: .seconds(1))
        #expect(pusher.connection.connectionState == .reconnecting)
        let plain = Pusher(key: "k").connection
        #expect(plain.activityTimeoutInterval == 60 && plain.pongResponseTimeoutInterval == 30)
        #expect(plain.maxReconnectGapInSeconds == 120 && plain.reconnectAttemptsMax == nil)
    }

    @Test func reportsErrorsOfTheBrokerInBothAPIs() async throws {
        let broker = ScriptedBroker()
        let (pusher, notes) = try await connected(broker)
        var seen: [String] = []
        pusher.bind { (event: PusherEvent) in seen.append(event.eventName) }
        pusher.bind({ (data: Any?) -> Void in
            let members = data as? [String: Any]
            let fault = members?["data"] as? [String: AnyObject]
            seen.append("\(members?["event"] ?? "") \(fault?["code"] as? Int ?? 0)")
        })
        let socketID = try #require(pusher.connection.socketId)
        let text = #"{"event":"pusher:error","data":{"code":4301,"message":"slowly"}}"#
        try broker.send(text, to: socketID)
        try await broker.settle()
        #expect(notes.errors == ["4301: slowly"])
        // Callbacks of the newer API receive events only.
        #expect(seen == ["pusher:error 4301"])
    }

    @Test func reportsTheSubscriptionCount() async throws {
        var settings = ScriptedBroker.Settings()
        settings.sendsSubscriptionCounts = true
        let broker = ScriptedBroker(settings)
        var counts: [Int] = []
        var seen: [String] = []
        let pusher = Pusher(key: "app-key", options: broker.options())
        pusher.bind { (event: PusherEvent) in seen.append(event.eventName) }
        let channel = pusher.subscribe("a", onSubscriptionCountChanged: { counts.append($0) })
        pusher.connect()
        try await broker.waitForSubscribers(to: "a")
        let other = broker.client()
        other.subscribe("a")
        other.connect()
        try await broker.waitForSubscribers(2, to: "a")
        try await broker.settle()
        other.disconnect()
        #expect(counts == [1, 2] && channel.subscriptionCount == 2)
        #expect(seen == ["pusher:subscription_succeeded"])
    }

    @Test func cancelsASubscriptionThatIsNotConfirmed() async throws {
        let broker = ScriptedBroker()
        let (pusher, _) = try await connected(broker)
        broker.inject(.delay(.seconds(5))) { $0.event == "pusher_internal:subscription_succeeded" }
        var seen: [String] = []
        pusher.subscribe("b").bind(eventName: "e") { event in seen.append(event.data ?? "") }
        pusher.unsubscribe("b")
        try await broker.advance(by: .seconds(5))
        try broker.trigger("e", on: ["b"], text: "1")
        try await broker.settle()
        #expect(seen.isEmpty && broker.subscribers(of: "b").isEmpty)
        // Subscribed again, it is a new object with its own callbacks.
        let again = pusher.subscribe("b")
        again.bind(eventName: "e") { event in seen.append("again \(event.data ?? "")") }
        try await broker.waitForSubscribers(to: "b")
        try broker.trigger("e", on: ["b"], text: "2")
        try await broker.settle()
        #expect(seen == ["again 2"])
        pusher.unsubscribeAll()
        try await broker.settle()
        #expect(broker.connections.map(\.channels) == [[]])
    }

    @Test func deliversEventsThatASubclassPassesOn() async throws {
        final class Filter: PusherChannel {
            override func handleEvent(event: PusherEvent) {
                if event.data != "secret" { super.handleEvent(event: event) }
            }
        }
        let pusher = Pusher(key: "k")
        let channel = Filter(name: "a", connection: pusher.connection)
        var seen: [String] = []
        channel.bind(eventName: "e") { event in seen.append(event.data ?? "") }
        let global = try #require(pusher.connection.globalChannel)
        #expect(global.globalCallbacks.isEmpty)
        let id = pusher.bind { (_: PusherEvent) in }
        #expect(Array(global.globalCallbacks.keys) == [id])
        #expect(channel.eventHandlers["e"]?.count == 1)
        #expect(channel.connection === pusher.connection)
    }
}
