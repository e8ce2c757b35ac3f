import Testing

@testable import LiveCollections

@Suite("The authority of a shared text")
struct TextAuthorityTests {
    private var writer = TextDocument(replica: .random())

    private func authority(_ text: String = "") throws -> TextAuthority {
        var authority = try TextAuthority(replica: .random())
        var first = TextDocument(replica: .random())
        _ = try authority.commit(try first.replace(0..<0, with: text))
        _ = authority.wholeTextUpdate(by: "backend", at: .zero)
        return authority
    }

    @Test("A batch is applied once, and the new part of a known one is applied")
    func idempotence() throws {
        var authority = try authority()
        var writer = writer
        var batch = try writer.replace(0..<0, with: "ab")
        #expect(try authority.commit(batch).count == 1)
        #expect(try authority.commit(batch).isEmpty)
        batch.append(try writer.replace(2..<2, with: "cd"))
        let entries = try authority.commit(batch)
        #expect(authority.document.string == "abcd")
        guard case .batch(let rest)? = entries.first?.change else {
            Issue.record("nothing was taken")
            return
        }
        #expect(rest.number == 3)
    }

    @Test("A batch is atomic")
    func atomicity() throws {
        var authority = try authority()
        var writer = writer
        var batch = try writer.replace(0..<0, with: "ab")
        let nowhere = ScalarID(time: 77, replica: writer.replica)
        batch.operations.append(.insert(time: 99, after: nowhere, text: "x"))
        #expect(throws: TextRefusal.self) { try authority.commit(batch) }
        #expect(authority.document.string == "")
        #expect(authority.serial == 0)
    }

    @Test("An edit that makes the text too long is refused, one that shortens it is not")
    func length() throws {
        var limits = TextLimits()
        limits.length = 4
        var authority = try TextAuthority(replica: .random(), limits: limits)
        var writer = writer
        _ = try authority.commit(try writer.replace(0..<0, with: "abcd"))
        let deletion = try writer.replace(0..<1, with: "")
        #expect(throws: TextRefusal.self) {
            var other = TextDocument(replica: .random(), from: authority.snapshot)
            _ = try authority.commit(try other.replace(0..<0, with: "e"))
        }
        _ = try authority.commit(deletion)
        #expect(authority.document.string == "bcd")
    }

    @Test("A recovery returns the entries after a known one, in portions")
    func recovery() throws {
        var authority = try authority()
        var writer = writer
        for index in 0..<250 {
            _ = try authority.commit(try writer.replace(index..<index, with: "x"))
        }
        guard case .entries(let entries, serial: 250) = authority.recovery(after: 10, epoch: 0)
        else {
            Issue.record("the log goes back that far")
            return
        }
        #expect(entries.map(\.serial) == Array(11...210))
        #expect(authority.recovery(after: 250, epoch: 0) == .entries([], serial: 250))
        for (serial, epoch) in [(251, 0), (9, 1)] as [(UInt64, UInt64)] {
            let answer = authority.recovery(after: serial, epoch: epoch)
            #expect(answer == .snapshot(authority.snapshot))
        }
    }

    @Test("A new epoch removes IDs and refuses operations that refer to them")
    func epochs() throws {
        var authority = try authority()
        var writer = writer
        _ = try authority.commit(try writer.replace(0..<0, with: "abcdef"))
        _ = try authority.commit(try writer.replace(1..<5, with: ""))
        #expect(authority.document.deletedCount == 4)
        let entry = authority.compact()
        #expect(entry == TextEntry(serial: 3, change: .compacted(epoch: 1)))
        #expect(authority.document.deletedCount == 0)
        #expect(authority.document.string == "af")
        let late = try writer.replace(1..<1, with: "x")
        #expect(throws: TextRefusal.self) { try authority.commit(late) }
    }

    @Test(
        "Entries without deletions begin no epoch; the log is trimmed, and only clients behind it load the text"
    )
    func trimming() throws {
        var authority = try authority()
        var writer = writer
        var clients = [TextSession(replica: .random()), TextSession(replica: .random())]
        for index in clients.indices {
            _ = clients[index].fetched(.snapshot(authority.snapshot))
            clients[index].reconnected()
        }
        var place: TextAnchor?
        for index in 0..<6_000 {
            let entries = try authority.commit(try writer.replace(index..<index, with: "x"))
            // The first client is online, the second for the first hundred entries.
            for entry in entries {
                _ = clients[0].receive(entry)
                if index < 100 { _ = clients[1].receive(entry) }
            }
            if index == 99 { place = clients[1].document.anchor(at: 50, bias: .left) }
            try #require(!authority.isCompactionDue)
            if authority.isTrimmingDue {
                let trimmed = authority.trimLog()
                #expect(trimmed == 2_500)
            }
        }
        #expect(authority.trimLog() == 3_500)
        #expect(authority.trimLog() == nil)
        #expect(authority.snapshot.epoch == 0)
        let request = TextSession.Fetch.entries(after: 6_000, epoch: 0)
        #expect(clients[0].fetch == request)
        #expect(authority.recovery(after: 6_000, epoch: 0) == .entries([], serial: 6_000))
        guard case .entries = authority.recovery(after: 3_500, epoch: 0) else {
            Issue.record("the log does not go back to 3,500")
            return
        }
        // The client behind the log keeps its cursor and its unsent edit, with the same IDs.
        try clients[1].replace(100..<100, with: "!")
        let unsent = clients[1].unsent
        let recovery = authority.recovery(after: 100, epoch: 0)
        #expect(recovery == .snapshot(authority.snapshot))
        _ = clients[1].fetched(recovery)
        #expect(clients[1].document.utf16Count == 6_001)
        #expect(clients[1].document.offset(of: try #require(place)) == 50)
        #expect(clients[1].unsent == unsent)
        #expect(try authority.commit(unsent[0]).count == 1)
    }

    @Test("A restored authority keeps the stored entries before its snapshot")
    func restoredLog() throws {
        var authority = try authority()
        var writer = writer
        var entries: [TextEntry] = []
        for index in 0..<10 {
            entries += try authority.commit(try writer.replace(index..<index, with: "x"))
        }
        let snapshot = authority.snapshot
        entries += try authority.commit(try writer.replace(10..<10, with: "y"))
        let restored = try TextAuthority(replica: .random(), from: snapshot, log: entries)
        #expect(restored.snapshot == authority.snapshot)
        #expect(restored.recovery(after: 0, epoch: 0) == .entries(entries, serial: 11))
        // With a gap, entries from behind it on.
        entries.remove(at: 4)
        let gapped = try TextAuthority(replica: .random(), from: snapshot, log: entries)
        #expect(gapped.recovery(after: 3, epoch: 0) == .snapshot(authority.snapshot))
        #expect(gapped.recovery(after: 5, epoch: 0) == .entries(Array(entries[4...]), serial: 11))
    }

    @Test("A whole text applies its client's change and no other")
    func bridge() throws {
        var authority = try authority("one two three")
        var writer = TextDocument(replica: .random(), from: authority.snapshot)
        _ = try authority.commit(try writer.replace(0..<3, with: "ONE"))
        _ = try authority.takeWholeText("one two three four", from: "phone", at: .seconds(1))
        #expect(authority.document.string == "ONE two three four")
        // Its next text is derived from its last one, which no other client has seen.
        _ = try authority.takeWholeText("one three four", from: "phone", at: .seconds(2))
        #expect(authority.document.string == "ONE three four")
    }

    @Test("A device must ignore only the text that it already shows")
    func deviceIDs() throws {
        var authority = try authority("one")
        _ = try authority.takeWholeText("one two", from: "phone", at: .seconds(1))
        let own = authority.wholeTextUpdate(by: "backend", at: .seconds(1))
        #expect(own?.text == "one two" && own?.device == "phone")
        #expect(authority.wholeTextUpdate(by: "backend", at: .seconds(1)) == nil)
        var writer = TextDocument(replica: .random(), from: authority.snapshot)
        _ = try authority.commit(try writer.replace(0..<0, with: "zero "))
        _ = try authority.takeWholeText("one two three", from: "phone", at: .seconds(2))
        let merged = authority.wholeTextUpdate(by: "backend", at: .seconds(2))
        #expect(merged?.text == "zero one two three" && merged?.device == "backend")
    }

    @Test("A client that starts with an empty text deletes nothing")
    func freshDevice() throws {
        var authority = try authority("a long text that others have written")
        _ = try authority.takeWholeText("a", from: "phone", at: .seconds(9))
        #expect(authority.document.string == "aa long text that others have written")
    }

    @Test("Texts of one scalar and empty texts are supported")
    func shortTexts() throws {
        var authority = try authority()
        for text in ["ab", "a", "", "b"] {
            _ = try authority.takeWholeText(text, from: "phone", at: .seconds(1))
            #expect(authority.document.string == text)
        }
    }
}
