import Testing

@testable import LiveCollections

@MainActor
@Suite("The updates of a live text", .timeLimit(.minutes(1)))
struct LiveTextUpdatesTests {
    @Test("Remote edits are also a sequence, with the text after them")
    func sequence() async throws {
        let backend = try ScriptedBackend()
        let here = backend.open()
        let there = backend.open()
        try await until { here.isLoaded && there.isLoaded }
        let updates = there.updates
        try here.replace(0..<0, with: "x")
        for await update in updates {
            #expect(update == TextUpdate(splices: [TextSplice(0..<0, "x")], string: "x"))
            break
        }
        here.stop()
        there.stop()
    }

    @Test("A slow reader of the updates misses no edit, and another reader gets the same")
    func slowReader() async throws {
        let backend = try ScriptedBackend()
        let here = backend.open()
        let there = backend.open()
        try await until { here.isLoaded && there.isLoaded }
        let readers = [there.updates, there.updates]
        for count in 1...50 {
            try here.replace(0..<0, with: "x")
            try await until { there.string.utf16.count == count }
        }
        for reader in readers {
            var view = ""
            for await update in reader {
                for splice in update.splices { splice.apply(to: &view) }
                try #require(view == update.string)
                if update.string.utf16.count == 50 { break }
            }
            #expect(view.utf16.count == 50)
        }
        here.stop()
        there.stop()
    }

    @Test("Updates contain local edits too, and end with the text")
    func localUpdates() async throws {
        let backend = try ScriptedBackend("text")
        var text: LiveText? = backend.open()
        try await until { text?.isLoaded == true }
        let updates = try #require(text?.updates)
        try text?.replace(4..<4, with: "!")
        try text?.replace(0..<0, with: "")
        text = nil
        var seen: [TextUpdate] = []
        for await update in updates { seen.append(update) }
        #expect(seen == [TextUpdate(splices: [TextSplice(4..<4, "!")], string: "text!")])
    }
}
