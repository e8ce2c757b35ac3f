import Testing

@testable import LiveCollections

@MainActor
@Suite("A live text", .timeLimit(.minutes(1)))
struct LiveTextTests {
    private func open(_ backend: ScriptedBackend, unsent: [TextBatch] = []) -> LiveText {
        var options = LiveText.Options()
        // Time is not tested here: each wait lets other tasks run.
        options.sleep = { _ in try await Task.sleep(for: .milliseconds(1)) }
        let text = LiveText(from: backend, unsent: unsent, options: options)
        text.start()
        return text
    }

    private func wait(until condition: () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test("It loads, edits reach other clients, and a view that applies the splices shows the same")
    func edits() async throws {
        let backend = try ScriptedBackend("Hello")
        let here = open(backend)
        let there = open(backend)
        var view = ""
        there.observe { $0.apply(to: &view) }
        try await wait { here.isLoaded && there.isLoaded }
        #expect(here.string == "Hello")
        try here.replace(5..<5, with: ", wörld")
        let comma = try #require(here.string.firstIndex(of: ","))
        try here.replace(comma..<here.string.index(after: comma), with: " 👋")
        try await wait { there.string == "Hello 👋 wörld" }
        #expect(view == there.string)
        #expect(backend.string == there.string)
        try await wait { here.unsent.isEmpty }
        #expect(here.status == .live)
        here.stop()
        there.stop()
    }

    @Test("Consecutive keystrokes are sent as one operation")
    func batching() async throws {
        let backend = try ScriptedBackend()
        let text = open(backend)
        try await wait { text.isLoaded }
        for (offset, letter) in "Fanfare".enumerated() {
            try text.replace(offset..<offset, with: String(letter))
        }
        try await wait { backend.string == "Fanfare" }
        #expect(backend.batches.count == 1)
        #expect(backend.batches.first?.operations.count == 1)
        text.stop()
    }

    @Test("Offline edits are merged after a reconnect")
    func offline() async throws {
        let backend = try ScriptedBackend("middle")
        let here = open(backend)
        let there = open(backend)
        try await wait { here.isLoaded && there.isLoaded }
        backend.setReachable(false)
        try here.replace(0..<0, with: "front ")
        try there.replace(6..<6, with: " end")
        try await wait { here.status == .offline(reason: "cut") }
        #expect(here.unsent.count == 1)
        backend.setReachable(true)
        for text in [here, there] {
            try await wait { text.string == "front middle end" && text.unsent.isEmpty }
            text.stop()
        }
    }

    @Test("Unsent edits of an earlier run are sent by the next, once")
    func adoption() async throws {
        let backend = try ScriptedBackend("text")
        let first = open(backend)
        try await wait { first.isLoaded }
        backend.setReachable(false)
        try first.replace(4..<4, with: " and more")
        let kept = first.unsent
        first.stop()
        backend.setReachable(true)
        let second = open(backend, unsent: kept)
        let third = open(backend, unsent: kept)
        try await wait { second.unsent.isEmpty && third.unsent.isEmpty }
        #expect(backend.string == "text and more")
        second.stop()
        third.stop()
    }

    @Test("A new epoch keeps concurrent edits at their position")
    func compaction() async throws {
        let backend = try ScriptedBackend("one two three")
        let here = open(backend)
        let there = open(backend)
        try await wait { here.isLoaded && there.isLoaded }
        backend.setReachable(false)
        try here.replace(7..<7, with: " and a half")
        backend.setReachable(true)
        try there.replace(4..<8, with: "")
        try await wait { there.unsent.isEmpty }
        backend.compact()
        for text in [here, there] {
            try await wait {
                text.unsent.isEmpty && text.string == backend.string
                    && text.string.contains(" and a half")
            }
            #expect(text.string.hasPrefix("one ") && text.string.hasSuffix("three"))
            text.stop()
        }
    }

    @Test("Refused edits are reverted and reported with the reason")
    func refusal() async throws {
        let backend = try ScriptedBackend("text")
        let text = open(backend)
        try await wait { text.isLoaded }
        var reasons: [String] = []
        text.observeRefusals { reasons.append($0) }
        backend.refuse(with: .invalid(reason: "the text is closed"))
        try text.replace(0..<0, with: "more ")
        try await wait { !reasons.isEmpty && text.string == "text" }
        #expect(reasons == ["the text is closed"])
        #expect(text.unsent.isEmpty)
        text.stop()
    }

    @Test("Remote edits are also a sequence, with the text after them")
    func sequence() async throws {
        let backend = try ScriptedBackend()
        let here = open(backend)
        let there = open(backend)
        try await wait { here.isLoaded && there.isLoaded }
        let updates = there.updates
        try here.replace(0..<0, with: "x")
        for await update in updates {
            #expect(update == TextUpdate(splices: [TextSplice(0..<0, "x")], string: "x"))
            break
        }
        here.stop()
        there.stop()
    }

    @Test("A cursor moves with the text")
    func cursor() async throws {
        let backend = try ScriptedBackend("ab")
        let here = open(backend)
        let there = open(backend)
        try await wait { here.isLoaded && there.isLoaded }
        let place = here.anchor(at: 1)
        try there.replace(0..<0, with: "👋")
        try await wait { here.string == "👋ab" }
        #expect(here.offset(of: place) == 3)
        #expect(there.offset(of: place) == 3)
        here.stop()
        there.stop()
    }
}
