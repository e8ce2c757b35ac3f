import FanfareAPI
import PusherSwift
import TestBroker
import Testing

@Suite("Apps in language mode 5", .timeLimit(.minutes(1))) @MainActor struct PusherSwiftMode5Tests {
    @Test func keepOneListOnTwoDevices() async throws {
        let broker = try await TestBroker.start()
        let devices = [UserTableViewController(), UserTableViewController()]
        for device in devices {
            device.port = broker.port
            device.viewDidLoad()
        }
        try await broker.waitForSubscribers(2)
        for (event, data) in [
            ("addUser", #"{"name":"D","deviceId":"another device"}"#),
            ("addUser", #"{"name":"E","deviceId":"\#(devices[0].deviceId)"}"#),
            ("moveUser", #"{"src":0,"dest":1}"#),
            ("removeUser", #"{"index":2}"#),
        ] {
            try await broker.api.trigger(event, on: "userslist", text: data)
        }
        var calls: [[String]] = [[], []]
        for (index, device) in devices.enumerated() {
            for await call in device.tableView.calls.stream {
                calls[index].append(call)
                if call.hasPrefix("delete") { break }
            }
            device.close()
        }
        #expect(calls[0] == ["reload", "move 0 1", "delete 2"])
        #expect(calls[1] == ["reload", "reload", "move 0 1", "delete 2"])
        #expect(devices[0].users.map { $0["name"] as? String } == ["B", "A"])
        #expect(devices[1].users.map { $0["name"] as? String } == ["B", "A", "E"])
        for device in devices { #expect(device.states.prefix(2) == ["connecting", "connected"]) }
        await broker.stop()
    }

    @Test func workForClassesOfNoActor() async throws {
        let broker = try await TestBroker.start()
        let closed = AsyncStream<Void>.makeStream()
        let notebook = Notebook(port: broker.port) { closed.continuation.finish() }
        try await broker.waitForSubscribers(1, to: "notes")
        try await broker.api.trigger("text", on: "notes", text: "hello")
        try await broker.api.trigger("closed", on: "notes", text: "")
        for await _ in closed.stream {}
        #expect(notebook.text == "hello")
        notebook.close()
        await broker.stop()
    }
}
