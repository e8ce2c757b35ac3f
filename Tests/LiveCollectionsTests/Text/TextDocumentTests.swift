import TestRandom
import Testing

@testable import LiveCollections

@Suite("A text as a value")
struct TextDocumentTests {
    private static func replica(_ number: UInt64) throws -> ReplicaID {
        try #require(ReplicaID(rawValue: number))
    }

    private func document(_ number: UInt64, _ limits: TextLimits = TextLimits()) throws
        -> TextDocument
    {
        TextDocument(replica: try Self.replica(number), limits: limits)
    }

    @Test("A local edit appears in another replica")
    func roundTrip() throws {
        var here = try document(1)
        var there = try document(2)
        let first = try here.replace(0..<0, with: "Hello wörld 👋")
        #expect(try there.apply(first) == [TextSplice(0..<0, "Hello wörld 👋")])
        let second = try here.replace(6..<11, with: "🌍")
        #expect(try there.apply(second) == [TextSplice(6..<11, ""), TextSplice(6..<6, "🌍")])
        #expect(there.string == "Hello 🌍 👋")
        #expect(there.snapshot().runs == here.snapshot().runs)
    }

    @Test(
        "Concurrent insertions at one position do not interleave and have the same order everywhere"
    )
    func concurrentTyping() throws {
        var here = try document(1)
        var there = try document(2)
        var fromHere: [TextBatch] = []
        var fromThere: [TextBatch] = []
        for (offset, letter) in "abc".enumerated() {
            fromHere.append(try here.replace(offset..<offset, with: String(letter)))
        }
        for (offset, letter) in "xyz".enumerated() {
            fromThere.append(try there.replace(offset..<offset, with: String(letter)))
        }
        for batch in fromThere { try here.apply(batch) }
        for batch in fromHere { try there.apply(batch) }
        #expect(here.string == "xyzabc")
        #expect(there.string == "xyzabc")
    }

    @Test("Operations may arrive in any order and repeatedly")
    func anyOrder() throws {
        var here = try document(1)
        var batches: [TextBatch] = []
        for letter in "Fanfare" {
            let end = here.utf16Count
            batches.append(try here.replace(end..<end, with: String(letter)))
        }
        batches.append(try here.replace(0..<3, with: ""))
        var random = SeededRandom(seed: 7)
        for _ in 0..<50 {
            var there = try document(2)
            for batch in (batches + batches).shuffled(using: &random) { try there.apply(batch) }
            #expect(there.string == "fare")
            #expect(there.waitingCount == 0)
        }
    }

    @Test("A word sent in parts equals the word")
    func partsOverlap() throws {
        var here = try document(1)
        var all = try here.replace(0..<0, with: "ab")
        let rest = try here.replace(2..<2, with: "cd")
        var there = try document(2)
        try there.apply(all)
        all.append(rest)
        #expect(all.operations.count == 1)
        #expect(try there.apply(all) == [TextSplice(2..<2, "cd")])
        #expect(there.string == "abcd")
    }

    @Test("An anchor moves with the text around it")
    func anchors() throws {
        var text = try document(1)
        _ = try text.replace(0..<0, with: "one two")
        let left = text.anchor(at: 3, bias: .left)
        let right = text.anchor(at: 3, bias: .right)
        _ = try text.replace(3..<3, with: "👋")
        #expect(text.offset(of: left) == 3)
        #expect(text.offset(of: right) == 5)
        _ = try text.replace(0..<4 + 1, with: "")
        #expect(text.offset(of: left) == 0)
        #expect(text.offset(of: right) == 0)
        #expect(text.offset(of: text.anchor(at: 99, bias: .right)) == text.utf16Count)
        #expect(text.offset(of: .after(ScalarID(time: 99, replica: text.replica))) == nil)
    }

    @Test("Invalid offsets are refused, and nothing changes")
    func refusals() throws {
        var limits = TextLimits()
        limits.length = 5
        var text = try document(1, limits)
        _ = try text.replace(0..<0, with: "a👋b")
        #expect(throws: TextError.insideScalar(offset: 2)) { try text.replace(2..<2, with: "x") }
        #expect(throws: TextError.outOfBounds(range: 3..<9, length: 4)) {
            try text.replace(3..<9, with: "")
        }
        #expect(throws: TextError.tooLong(length: 6, limit: 5)) {
            try text.replace(0..<0, with: "xyz")
        }
        #expect(text.string == "a👋b")
    }

    @Test("An operation that waits for a deletion without effect is applied with it")
    func waitingForNothing() throws {
        var here = try document(1)
        var there = try document(2)
        var third = try document(3)
        let typed = try here.replace(0..<0, with: "ab")
        for batch in [typed] {
            try there.apply(batch)
            try third.apply(batch)
        }
        try third.apply(try here.replace(0..<1, with: ""))
        let deletion = try there.replace(0..<1, with: "")
        let last = try there.replace(1..<1, with: "c")
        try third.apply(last)
        #expect(third.waitingCount == 1)
        #expect(try third.apply(deletion) == [TextSplice(1..<1, "c")])
        #expect(third.waitingCount == 0)
    }

    @Test("The number of waiting operations is limited")
    func waitingIsBounded() throws {
        var limits = TextLimits()
        limits.waitingOperations = 2
        var here = try document(1)
        var there = try document(2, limits)
        let batches = try (0..<4).map { try here.replace($0..<$0, with: "x") }
        try there.apply(batches[2])
        try there.apply(batches[3])
        #expect(throws: TextError.tooManyWaiting(limit: 2)) { try there.apply(batches[1]) }
        try there.apply(batches[0])
        try there.apply(batches[1])
        #expect(there.string == "xxxx")
    }

    @Test("Malformed operations are refused")
    func malformed() throws {
        let replica = try Self.replica(1)
        let id = ScalarID(time: 3, replica: replica)
        let operations: [TextOperation] = [
            .insert(time: 0, after: nil, text: "x"), .insert(time: 3, after: nil, text: ""),
            .insert(time: 1 << 40, after: nil, text: "x"),
            .insert(time: 2, after: id, text: "x"),
            .delete(ScalarRange(id, count: 0)), .delete(ScalarRange(id, count: 1 << 40)),
        ]
        for operation in operations {
            var text = try document(2)
            let batch = TextBatch(epoch: 0, replica: replica, number: 1, operations: [operation])
            #expect(throws: TextError.self) { try text.apply(batch) }
            #expect(text.string == "")
        }
    }

    @Test("Blocks, string and offsets agree with a plain array after many edits")
    func agreesWithArray() throws {
        var random = SeededRandom(seed: 3)
        var text = try document(1)
        var witness: [Unicode.Scalar] = []
        for step in 0..<3_000 {
            let start = Int.random(in: 0...witness.count, using: &random)
            let count = Int.random(in: 0...min(4, witness.count - start), using: &random)
            let typed = Array(["a", "é", "👋", "x\u{301}y", ""].randomElement(using: &random) ?? "")
            let scalars = typed.flatMap(\.unicodeScalars)
            let low = TextExtent.of(witness[..<start]).utf16
            let high = low + TextExtent.of(witness[start..<(start + count)]).utf16
            let deletes = Bool.random(using: &random) ? count : 0
            _ = try text.replace(low..<(deletes == 0 ? low : high), with: String(typed))
            witness.replaceSubrange(start..<(start + deletes), with: scalars)
            if step % 100 == 0 {
                #expect(Array(text.string.unicodeScalars) == witness)
                #expect(text.snapshot().string == text.string)
            }
        }
        #expect(Array(text.string.unicodeScalars) == witness)
        let copy = TextDocument(replica: try Self.replica(2), from: text.snapshot())
        #expect(copy.string == text.string)
        #expect(copy.snapshot() == text.snapshot())
    }
}
