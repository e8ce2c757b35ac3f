import Testing

@testable import LiveCollections

@Suite("The updates of a text", .timeLimit(.minutes(1)))
struct TextUpdatesTests {
    private let readers = TextUpdateReaders()

    /// Inserts a text at the start and sends the change.
    private func insert(_ typed: String, into text: inout String) {
        let count = text.utf16.count
        text = typed + text
        let string = text
        readers.send([TextSplice(0..<0, typed)], before: count) { string }
    }

    @Test(
        "Applied splices give the text, for every number of unread changes",
        arguments: [1, 999, 1_000, 3_000]
    )
    func splices(count: Int) async throws {
        let iterators = [TextUpdates(readers), TextUpdates(readers)]
        var text = "text"
        for _ in 1...count { insert("x", into: &text) }
        for updates in iterators {
            var iterator = updates.makeAsyncIterator()
            let update = try #require(await iterator.next())
            #expect(update.string == text)
            #expect(update.isWholeText == (count >= 1_000))
            #expect(update.splices.count == (update.isWholeText ? 1 : count))
            var view = "text"
            for splice in update.splices { splice.apply(to: &view) }
            #expect(view == text)
        }
    }

    @Test("Long insertions are coalesced as soon as they exceed the text")
    func longInsertions() async throws {
        let updates = TextUpdates(readers)
        let page = String(repeating: "x", count: 20_000)
        for _ in 1...10 {
            readers.send([TextSplice(0..<0, page)], before: 0) { page }
            readers.send([TextSplice(0..<20_000, "")], before: 20_000) { "" }
        }
        var iterator = updates.makeAsyncIterator()
        let update = try #require(await iterator.next())
        #expect(
            update == TextUpdate(splices: [TextSplice(0..<0, "")], string: "", isWholeText: true)
        )
    }

    @Test("After a whole text, single changes follow")
    func afterWholeText() async throws {
        var iterator = TextUpdates(readers).makeAsyncIterator()
        var text = ""
        for _ in 1...1_000 { insert("x", into: &text) }
        #expect(await iterator.next()?.isWholeText == true)
        insert("y", into: &text)
        #expect(
            await iterator.next() == TextUpdate(splices: [TextSplice(0..<0, "y")], string: text)
        )
    }

    @Test("A second iterator gets the changes from its creation on")
    func laterIterator() async throws {
        let updates = TextUpdates(readers)
        var first = updates.makeAsyncIterator()
        var text = ""
        insert("x", into: &text)
        var second = updates.makeAsyncIterator()
        insert("y", into: &text)
        #expect(await first.next()?.splices.count == 2)
        #expect(await second.next()?.splices == [TextSplice(0..<0, "y")])
    }

    @Test("The sequence ends after the last update, and when its task is cancelled")
    func end() async throws {
        let updates = TextUpdates(readers)
        let cancelled = Task { [updates = TextUpdates(readers)] in
            for await _ in updates {}
        }
        cancelled.cancel()
        await cancelled.value
        var text = ""
        insert("x", into: &text)
        readers.finish()
        var iterator = updates.makeAsyncIterator()
        #expect(await iterator.next()?.string == "x")
        #expect(await iterator.next() == nil)
        var late = updates.makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    @Test("Without a reader the text is not copied")
    func noReader() {
        _ = TextUpdates(readers)
        var isAsked = false
        readers.send([TextSplice(0..<0, "x")], before: 0) {
            isAsked = true
            return "x"
        }
        #expect(!isAsked)
    }
}
