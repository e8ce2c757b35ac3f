import FanfareTesting
import Foundation
import PusherSwift
import Testing

/// A text that several people edit, each change of which goes to the others whole, as apps have it that were written
/// for the official client: typed callbacks of both spellings in one class of the main actor.
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

    /// Leaves as an app's screen does: callbacks that keep it would do so for ever.
    func close() {
        pusher.disconnect()
        pusher.unsubscribeAll()
    }
}

@Suite("A text editor for the official client", .timeLimit(.minutes(1))) @MainActor
struct TextEditorTests {
    @Test func showsWhatOthersWrite() async throws {
        let broker = ScriptedBroker()
        let editors = (0..<2).map { _ in TextEditor(key: "app-key", options: broker.options()) }
        try await broker.waitForSubscribers(2, to: "collabo_text")
        func write(_ text: String, from deviceId: String) throws {
            let data = ["deviceId": deviceId, "text": text]
            try broker.trigger("text_update", on: "collabo_text", data: data)
        }
        try write("Hello", from: "another device")
        try write("Hello, \"you\" 🎉", from: editors[0].deviceId)
        // What is no update harms nobody.
        try broker.trigger("text_update", on: ["collabo_text"], text: "[1]")
        try await broker.settle()
        #expect(editors.map(\.text) == ["Hello", "Hello, \"you\" 🎉"])
        #expect(editors[0].changes == ["Hello", "Hello, \"you\" 🎉"])
        for editor in editors { editor.close() }
    }
}
