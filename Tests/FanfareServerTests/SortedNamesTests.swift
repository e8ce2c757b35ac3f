import PusherProtocol
import TestRandom
import Testing

@testable import FanfareServer
@testable import Shard

@Suite("Sorted channel names") struct SortedNamesTests {
    private func texts(
        _ names: SortedNames,
        after cursor: String = "",
        startingWith prefix: String = "",
        limit: Int = .max
    ) -> [String] {
        names.names(after: cursor, startingWith: prefix, limit: limit).names.map(\.text)
    }

    @Test("They agree with a sorted array under random changes", arguments: [1, 2, 3])
    func agreeWithAPlainArray(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var names = SortedNames()
        var plain: Set<String> = []
        // Grows to some blocks, and shrinks to few names, so that blocks are split, joined and dropped.
        for step in 0..<12_000 {
            let isGrowing = step / 3_000 % 2 == 0
            let start = ["a", "b", "private-"].randomElement(using: &random) ?? ""
            let text = "\(start)\(Int.random(in: 0..<1_500, using: &random))"
            let name = try ChannelName(text)
            let isUsual = Int.random(in: 0..<4, using: &random) > 0
            if isUsual == isGrowing {
                if plain.insert(text).inserted { names.insert(name) }
            } else {
                plain.remove(text)
                names.remove(name)
            }
            guard step % 500 == 499 else { continue }
            let sorted = plain.sorted()
            #expect(names.count == sorted.count)
            #expect(texts(names) == sorted)
            for cursor in ["", "a", "a7", "b1499", "private-", "zz", text] {
                for prefix in ["", "a", "private-1", "b2", "none"] {
                    let expected = sorted.filter { $0 > cursor && $0.hasPrefix(prefix) }
                    for limit in [1, 100, 1_000] {
                        let (part, isComplete) = names.names(
                            after: cursor,
                            startingWith: prefix,
                            limit: limit
                        )
                        #expect(part.map(\.text) == Array(expected.prefix(limit)))
                        #expect(isComplete == (expected.count <= limit))
                    }
                }
            }
        }
    }

    @Test("Names inserted in ascending and descending order", arguments: [false, true])
    func sequences(isReversed: Bool) throws {
        let texts = (1_000..<3_000).map { "channel-\($0)" }
        var names = SortedNames()
        for text in isReversed ? texts.reversed() : texts { names.insert(try ChannelName(text)) }
        #expect(self.texts(names) == texts)
        for text in texts { names.remove(try ChannelName(text)) }
        #expect(names.count == 0 && self.texts(names) == [])
    }

    @Test func whatIsNotThereIsNotRemoved() throws {
        var names = SortedNames()
        names.remove(try ChannelName("a"))
        names.insert(try ChannelName("b"))
        for text in ["a", "c"] { names.remove(try ChannelName(text)) }
        #expect(texts(names) == ["b"])
    }

    @Test("A prefix that no name can have finds nothing") func otherCharacters() throws {
        var names = SortedNames()
        names.insert(try ChannelName("a"))
        #expect(texts(names, startingWith: "ä") == [])
        #expect(texts(names, after: "ä") == [])
    }
}
