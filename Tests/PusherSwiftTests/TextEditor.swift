import FanfareTesting
import Foundation
import PusherSwift
import Testing

/// A shared text editor as in apps for the official client: each change sends the whole text, with callbacks of both
/// APIs in one class of the main actor.
@MainActor
final class TextEditor {
    let deviceId = UUID().uuidString
    let pusher: Pusher
    private(set) var text = ""
    private(set) var changes: [String] = []

    init(key: String, options: PusherClientOptions) {
        pusher = Pusher(key: key, options: options)
        listenForChanges()
    }

    private func listenForChanges() {
        let channel = pusher.subscribe("collabo_text")
        let _ = channel.bind(
            eventName: "text_update",
            callback: { (data: Any?) -> Void in
                if let data = data as? [String: AnyObject] {
                    guard let from = data["deviceId"] as? String, from != self.deviceId else {
                        return
                    }
                    if let text = data["text"] as? String { self.text = text }
                }
            }
        )
        channel.bind(eventName: "text_update") { event in
            struct Update: Decodable {
                var deviceId: String
                var text: String
            }
            let data = Data((event.data ?? "").utf8)
            guard let update = try? JSONDecoder().decode(Update.self, from: data) else { return }
            self.changes.append(update.text)
        }
        pusher.connect()
    }

    /// Unbinds, as an app's screen does when it closes: callbacks that capture it would leak it.
    func close() {
        pusher.disconnect()
        pusher.unsubscribeAll()
    }
}

@Suite("PusherSwift: a text editor", .timeLimit(.minutes(1))) @MainActor
struct TextEditorTests {
    @Test func showsTheTextOfOthers() async throws {
        let broker = ScriptedBroker()
        let editors = (0..<2).map { _ in TextEditor(key: "app-key", options: broker.options()) }
        try await broker.waitForSubscribers(2, to: "collabo_text")
        func write(_ text: String, from deviceId: String) throws {
            let data = ["deviceId": deviceId, "text": text]
            try broker.trigger("text_update", on: "collabo_text", data: data)
        }
        try write("Hello", from: "another device")
        try write("Hello, \"you\" 🎉", from: editors[0].deviceId)
        // Invalid updates are ignored.
        try broker.trigger("text_update", on: ["collabo_text"], text: "[1]")
        try await broker.settle()
        #expect(editors.map(\.text) == ["Hello", "Hello, \"you\" 🎉"])
        #expect(editors[0].changes == ["Hello", "Hello, \"you\" 🎉"])
        for editor in editors { editor.close() }
    }
}
