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

    @Test("A refused edit is reverted; the edits that do not depend on it are sent")
    func refusal() async throws {
        let backend = try ScriptedBackend("text")
        let text = open(backend)
        try await wait { text.isLoaded }
        var refused: [RefusedEdits] = []
        text.observeRefusals { edits in
            // The text has already been reverted.
            #expect(text.offset(of: edits.insertions[0].position) == 0)
            refused.append(edits)
        }
        backend.refuse { batch in
            batch.operations.contains { $0.text?.contains("more") == true }
                ? TextRefusal.invalid(reason: "the text is closed") : nil
        }
        backend.holdSends()
        try text.replace(0..<0, with: "more ")
        try await wait { backend.heldCount == 1 }
        try text.replace(9..<9, with: " and this")
        try text.replace(5..<6, with: "T")
        try text.replace(7..<8, with: "X")
        backend.releaseSends()
        try await wait { !refused.isEmpty && text.unsent.isEmpty }
        #expect(text.string == "teXt and this")
        try await wait { backend.string == text.string }
        #expect(refused.count == 1)
        #expect(refused[0].refusal == .invalid(reason: "the text is closed"))
        // The "T" was typed after the refused text, so it depends on it.
        #expect(refused[0].insertions == [RefusedEdits.Insertion("more T", at: .start)])
        #expect(refused[0].batches.count == 2)
        text.stop()
    }

    @Test("A batch that is too large is sent in parts", arguments: [1, 7, 100])
    func tooLarge(limit: Int) async throws {
        let backend = try ScriptedBackend("[]")
        let text = open(backend)
        try await wait { text.isLoaded }
        backend.refuse { batch in
            let count = batch.operations.reduce(0) { $0 + ($1.text?.unicodeScalars.count ?? 1) }
            return count > limit ? TextRefusal.tooLarge(reason: "status 413") : nil
        }
        let typed = String(repeating: "0123456789", count: 30)
        try text.replace(1..<1, with: typed)
        try await wait { text.unsent.isEmpty }
        #expect(backend.string == "[\(typed)]")
        #expect(text.string == backend.string)
        text.stop()
    }

    @Test("A single scalar that is too large is handed back")
    func tooLargeScalar() async throws {
        let backend = try ScriptedBackend("text")
        let text = open(backend)
        try await wait { text.isLoaded }
        var refused: [RefusedEdits] = []
        text.observeRefusals { refused.append($0) }
        backend.refuse { _ in TextRefusal.tooLarge(reason: "status 413") }
        try text.replace(4..<4, with: "!")
        try await wait { !refused.isEmpty }
        #expect(refused.map { $0.insertions.map(\.text) } == [["!"]])
        #expect(text.string == "text" && text.unsent.isEmpty)
        text.stop()
    }

    @Test("A batch without an answer is sent again, and the status tells the reason")
    func unknownOutcome() async throws {
        let backend = try ScriptedBackend("text")
        let text = open(backend)
        try await wait { text.status == .live }
        backend.refuse { _ in ScriptedBackend.Unreachable() }
        try text.replace(0..<0, with: "more ")
        try await wait { text.status == .offline(reason: "Unreachable()") }
        #expect(text.string == "more text")
        backend.refuse { _ in nil }
        try await wait { text.unsent.isEmpty && text.status == .live }
        #expect(backend.string == "more text")
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

    @Test("A slow reader of the updates misses no edit, and another reader gets the same")
    func slowReader() async throws {
        let backend = try ScriptedBackend()
        let here = open(backend)
        let there = open(backend)
        try await wait { here.isLoaded && there.isLoaded }
        let readers = [there.updates, there.updates]
        for count in 1...200 {
            try here.replace(0..<0, with: "x")
            try await wait { there.string.utf16.count == count }
        }
        for reader in readers {
            var view = ""
            for await update in reader {
                for splice in update.splices { splice.apply(to: &view) }
                try #require(view == update.string)
                if update.string.utf16.count == 200 { break }
            }
            #expect(view.utf16.count == 200)
        }
        here.stop()
        there.stop()
    }

    @Test("Updates contain local edits too, and end with the text")
    func localUpdates() async throws {
        let backend = try ScriptedBackend("text")
        var text: LiveText? = open(backend)
        try await wait { text?.isLoaded == true }
        let updates = try #require(text?.updates)
        try text?.replace(4..<4, with: "!")
        try text?.replace(0..<0, with: "")
        text = nil
        var seen: [TextUpdate] = []
        for await update in updates { seen.append(update) }
        #expect(seen == [TextUpdate(splices: [TextSplice(4..<4, "!")], string: "text!")])
    }

    @Test("An offline text is released with its last reference", arguments: [false, true])
    func release(isLoaded: Bool) async throws {
        let backend = try ScriptedBackend("text")
        if !isLoaded { backend.setReachable(false) }
        var text: LiveText? = open(backend)
        weak let released = text
        if isLoaded {
            try await wait { text?.status == .live }
            backend.setReachable(false)
            try text?.replace(0..<0, with: "more ")
        }
        try await wait {
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
        let text = open(backend)
        try await wait { text.status == .live }
        backend.holdSends()
        try text.replace(0..<0, with: "more ")
        try await wait { backend.heldCount == 1 }
        text.stop()
        text.start()
        try await wait { text.status == .live }
        // The request of the stopped task ends late, and without an answer.
        backend.releaseSends(throwing: ScriptedBackend.Unreachable())
        try await wait { text.unsent.isEmpty }
        #expect(backend.string == "more text")
        text.stop()
    }

    @Test("A reported gap is fetched")
    func gap() async throws {
        let backend = try ScriptedBackend("text")
        let text = open(backend)
        try await wait { text.status == .live }
        try backend.editSilently { try $0.replace(0..<0, with: "more ") }
        backend.send(.gap)
        try await wait { text.string == "more text" }
        text.stop()
    }

    @Test("A source whose events end is read anew")
    func endOfNews() async throws {
        let backend = try ScriptedBackend("text")
        let text = open(backend)
        try await wait { text.status == .live }
        backend.endNews()
        try backend.editSilently { try $0.replace(0..<0, with: "more ") }
        try await wait { text.string == "more text" && text.status == .live }
        text.stop()
    }
}

extension TextOperation {
    fileprivate var text: String? {
        if case .insert(_, _, let text) = self { text } else { nil }
    }
}
