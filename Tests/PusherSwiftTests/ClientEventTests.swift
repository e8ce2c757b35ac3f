import FanfareTesting
import Foundation
import PusherSwift
import Testing

@Suite("PusherSwift: client events", .timeLimit(.minutes(1))) @MainActor
struct ClientEventTests {
    private func pusher(_ broker: ScriptedBroker, _ notes: DelegateNotes? = nil) -> Pusher {
        let options = broker.options(.inline(secret: broker.settings.secret))
        let pusher = Pusher(key: "app-key", options: options)
        pusher.delegate = notes
        return pusher
    }

    @Test func waitForTheSubscriptionAndReachTheOthers() async throws {
        let broker = ScriptedBroker()
        let (ann, ben) = (pusher(broker), pusher(broker))
        ann.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "ann") }
        var seen: [String] = []
        var objects: [Int] = []
        let heard = ben.subscribe("presence-a")
        heard.bind(eventName: "client-typing") { (event: PusherEvent) in
            seen.append("\(event.data ?? "nil") \(event.userId ?? "nobody")")
        }
        heard.bind(
            eventName: "client-typing",
            callback: { (data: Any?) -> Void in
                if let data = data as? [String: AnyObject], let at = data["at"] as? Int {
                    objects.append(at)
                }
            }
        )
        ben.connect()
        try await broker.waitForSubscribers(to: "presence-a")
        let channel = ann.subscribe("presence-a")
        channel.trigger(eventName: "client-typing", data: ["at": 1])
        #expect(channel.unsentEvents.map(\.name) == ["client-typing"])
        ann.connect()
        try await broker.waitForSubscribers(2, to: "presence-a")
        try await broker.settle()
        #expect(channel.unsentEvents.isEmpty)
        channel.trigger(eventName: "client-typing", data: "text")
        ann.connection.sendEvent(event: "client-typing", data: [2], channel: channel)
        try await broker.settle()
        #expect(seen == [#"{"at":1} ann"#, "text ann", "[2] ann"])
        #expect(objects == [1])
        // On the wire the data is the object itself.
        #expect(
            broker.clientEvents("client-typing", on: "presence-a") == [
                #"{"at":1}"#, "text", "[2]",
            ]
        )
        for pusher in [ann, ben] { pusher.disconnect() }
    }

    @Test func waitAsManyAsMay() async throws {
        let broker = ScriptedBroker()
        let notes = DelegateNotes()
        let ann = pusher(broker, notes)
        let channel = ann.subscribe("private-a")
        for number in 0..<101 { channel.trigger(eventName: "client-n", data: number) }
        #expect(channel.unsentEvents.count == 100)
        try await broker.settle()
        #expect(notes.log.count == 1 && notes.log[0].hasPrefix("[PUSHER ERROR] client-n"))
    }

    @Test(arguments: ["a", "private-encrypted-a", "private-a"])
    func areLoggedWhereTheyMayNotBeSent(name: String) async throws {
        let broker = ScriptedBroker()
        let notes = DelegateNotes()
        let ann = pusher(broker, notes)
        let channel = ann.subscribe(name)
        ann.connect()
        try await broker.waitForConnections()
        try await broker.settle()
        // On the private channel the name or the data is invalid.
        let isAllowed = name == "private-a"
        channel.trigger(eventName: isAllowed ? "typing" : "client-typing", data: 1)
        if isAllowed { channel.trigger(eventName: "client-typing", data: Date()) }
        ann.connection.sendEvent(event: "client-typing", data: 1)
        try await broker.settle()
        let errors = notes.log.filter { $0.hasPrefix("[PUSHER ERROR]") }
        #expect(errors.count == (isAllowed ? 2 : 1), "\(notes.log)")
        #expect(broker.clientEvents("client-typing", on: name).isEmpty)
    }
}
