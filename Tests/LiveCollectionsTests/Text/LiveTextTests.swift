import Testing

@testable import LiveCollections

@MainActor
@Suite("A live text", .timeLimit(.minutes(1)))
struct LiveTextTests {
    @Test("It loads, edits reach other clients, and a view that applies the splices shows the same")
    func edits() async throws {
        let backend = try ScriptedBackend("Hello")
        let here = backend.open()
        let there = backend.open()
        var view = ""
        there.observe { $0.apply(to: &view) }
        try await until { here.isLoaded && there.isLoaded }
        #expect(here.string == "Hello")
        try here.replace(5..<5, with: ", wörld")
        let comma = try #require(here.string.firstIndex(of: ","))
        try here.replace(comma..<here.string.index(after: comma), with: " 👋")
        try await until { there.string == "Hello 👋 wörld" }
        #expect(view == there.string)
        #expect(backend.string == there.string)
        try await until { here.unsent.isEmpty }
        #expect(here.status == .live)
        here.stop()
        there.stop()
    }

    @Test("Consecutive keystrokes are sent as one operation")
    func batching() async throws {
        let backend = try ScriptedBackend()
        let text = backend.open()
        try await until { text.isLoaded }
        for (offset, letter) in "Fanfare".enumerated() {
            try text.replace(offset..<offset, with: String(letter))
        }
        try await until { backend.string == "Fanfare" }
        #expect(backend.batches.count == 1)
        #expect(backend.batches.first?.operations.count == 1)
        text.stop()
    }

    @Test("Offline edits are merged after a reconnect")
    func offline() async throws {
        let backend = try ScriptedBackend("middle")
        let here = backend.open()
        let there = backend.open()
        try await until { here.isLoaded && there.isLoaded }
        backend.setReachable(false)
        try here.replace(0..<0, with: "front ")
        try there.replace(6..<6, with: " end")
        try await until { here.status == .offline(reason: "cut") }
        #expect(here.unsent.count == 1)
        backend.setReachable(true)
        for text in [here, there] {
            try await until { text.string == "front middle end" && text.unsent.isEmpty }
            text.stop()
        }
    }

    @Test("Unsent edits of an earlier run are sent by the next, once")
    func adoption() async throws {
        let backend = try ScriptedBackend("text")
        let first = backend.open()
        try await until { first.isLoaded }
        backend.setReachable(false)
        try first.replace(4..<4, with: " and more")
        let kept = first.unsent
        first.stop()
        backend.setReachable(true)
        let second = backend.open(unsent: kept)
        let third = backend.open(unsent: kept)
        try await until { second.unsent.isEmpty && third.unsent.isEmpty }
        #expect(backend.string == "text and more")
        second.stop()
        third.stop()
    }

    @Test("A new epoch keeps concurrent edits at their position")
    func compaction() async throws {
        let backend = try ScriptedBackend("one two three")
        let here = backend.open()
        let there = backend.open()
        try await until { here.isLoaded && there.isLoaded }
        backend.setReachable(false)
        try here.replace(7..<7, with: " and a half")
        backend.setReachable(true)
        try there.replace(4..<8, with: "")
        try await until { there.unsent.isEmpty }
        backend.compact()
        for text in [here, there] {
            try await until {
                text.unsent.isEmpty && text.string == backend.string
                    && text.string.contains(" and a half")
            }
            #expect(text.string.hasPrefix("one ") && text.string.hasSuffix("three"))
            text.stop()
        }
    }

    @Test("A batch without an answer is sent again, and the status tells the reason")
    func unknownOutcome() async throws {
        let backend = try ScriptedBackend("text")
        let text = backend.open()
        try await until { text.status == .live }
        backend.refuse { _ in ScriptedBackend.Unreachable() }
        try text.replace(0..<0, with: "more ")
        try await until { text.status == .offline(reason: "Unreachable()") }
        #expect(text.string == "more text")
        backend.refuse { _ in nil }
        try await until { text.unsent.isEmpty && text.status == .live }
        #expect(backend.string == "more text")
        text.stop()
    }

    @Test("A cursor moves with the text")
    func cursor() async throws {
        let backend = try ScriptedBackend("ab")
        let here = backend.open()
        let there = backend.open()
        try await until { here.isLoaded && there.isLoaded }
        let place = here.anchor(at: 1)
        try there.replace(0..<0, with: "👋")
        try await until { here.string == "👋ab" }
        #expect(here.offset(of: place) == 3)
        #expect(there.offset(of: place) == 3)
        here.stop()
        there.stop()
    }

    @Test("An offline text is released with its last reference", arguments: [false, true])
    func release(isLoaded: Bool) async throws {
        let backend = try ScriptedBackend("text")
        if !isLoaded { backend.setReachable(false) }
        var text: LiveText? = backend.open()
        weak let released = text
        if isLoaded {
            try await until { text?.status == .live }
            backend.setReachable(false)
            try text?.replace(0..<0, with: "more ")
        }
        try await until {
            backend.send(.connected)
            return backend.failureCount > 3
        }
        text = nil
        let deadline = ContinuousClock.now + .seconds(5)
        while released != nil, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(released == nil)
    }

    @Test("An edit whose sending is stopped is sent after the next start")
    func stopWhileSending() async throws {
        let backend = try ScriptedBackend("text")
        let text = backend.open()
        try await until { text.status == .live }
        backend.holdSends()
        try text.replace(0..<0, with: "more ")
        try await until { backend.heldCount == 1 }
        text.stop()
        text.start()
        try await until { text.status == .live }
        // The request of the stopped task ends late, and without an answer.
        backend.releaseSends(throwing: ScriptedBackend.Unreachable())
        try await until { text.unsent.isEmpty }
        #expect(backend.string == "more text")
        text.stop()
    }

    @Test("A reported gap is fetched")
    func gap() async throws {
        let backend = try ScriptedBackend("text")
        let text = backend.open()
        try await until { text.status == .live }
        try backend.editSilently { try $0.replace(0..<0, with: "more ") }
        backend.send(.gap)
        try await until { text.string == "more text" }
        text.stop()
    }

    @Test("A source whose events end is read anew")
    func endOfNews() async throws {
        let backend = try ScriptedBackend("text")
        let text = backend.open()
        try await until { text.status == .live }
        backend.endNews()
        try backend.editSilently { try $0.replace(0..<0, with: "more ") }
        try await until { text.string == "more text" && text.status == .live }
        text.stop()
    }
}
