import FanfareTesting
import PusherSwift
import Testing

@Suite("Apps in language mode 5, with a scripted broker", .timeLimit(.minutes(1))) @MainActor
struct RoomTests {
    private func options(_ broker: ScriptedBroker) -> PusherClientOptions {
        let options = PusherClientOptions(
            authMethod: .inline(secret: broker.settings.secret),
            host: .host("scripted-broker.test")
        )
        let own = broker.clientOptions()
        options.configure = { client in
            client.network.transport = own.network.transport
            client.clock = own.clock
        }
        return options
    }

    @Test func editOneText() async throws {
        let broker = ScriptedBroker()
        let editors = [TextViewController(), TextViewController()]
        for editor in editors {
            editor.options = options(broker)
            editor.viewDidLoad()
        }
        try await broker.waitForSubscribers(2, to: "private-collabo_text")
        editors[0].textViewDidChange("Hello")
        try await broker.settle()
        #expect(editors[1].textView.text == "Hello")
        #expect(editors[1].counter == "5")
        editors[1].textViewDidChange("Hello, you")
        try await broker.settle()
        #expect(editors[0].textView.text == "Hello, you")
        #expect(editors[0].counter == "10")
        for editor in editors { editor.close() }
    }

    @Test func showTheMembersOfARoom() async throws {
        let broker = ScriptedBroker()
        let rooms = ["ann", "ben"].map { name in
            let room = Room()
            room.sign = { socketID, channel in
                let data = "{\"user_id\":\"\(name)\"}"
                let auth = try? broker.authorization(of: socketID, for: channel, as: data)
                return auth.map { PusherAuth(auth: $0, channelData: data) }
            }
            return room
        }
        for (count, room) in rooms.enumerated() {
            room.join(options(broker))
            try await broker.waitForSubscribers(count + 1, to: "presence-room")
            try await broker.settle()
        }
        #expect(
            rooms[0].lines == [
                "connected", "1 here", "subscribed to presence-room", "ben came",
            ]
        )
        #expect(rooms[1].lines == ["connected", "2 here", "subscribed to presence-room"])
        rooms[1].pusher.disconnect()
        try await broker.settle()
        #expect(rooms[0].lines.last == "ben went")
        // Without an authorisation method the delegate receives an error.
        rooms[0].sign = { _, _ in nil }
        rooms[0].pusher.subscribe("private-other")
        try await broker.wait(for: "the refusal") {
            rooms[0].lines.last == "not subscribed to private-other"
        }
        for room in rooms { room.leave() }
    }
}
