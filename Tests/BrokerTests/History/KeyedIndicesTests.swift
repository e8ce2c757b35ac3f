import Testing

@testable import Broker

@Suite("A table of indices by key")
struct KeyedIndicesTests {
    /// The table, and what it should say.
    private struct Model {
        var keys: [String?] = []
        var indices = KeyedIndices<String>()
        var expected: [String: Int] = [:]

        mutating func insert(_ key: String) {
            let index = keys.firstIndex { $0 == nil } ?? keys.count
            if index == keys.count { keys.append(key) } else { keys[index] = key }
            indices.insert(index) { keys[$0] }
            expected[key] = index
        }

        mutating func remove(_ key: String) {
            indices.remove(key) { keys[$0] }
            if let index = expected.removeValue(forKey: key) { keys[index] = nil }
        }

        func index(of key: String) -> Int? { indices.index(of: key) { keys[$0] } }
    }

    @Test("It finds each element, and none that was removed", arguments: 1...8)
    func finds(seed: UInt64) {
        var (model, random) = (Model(), SplitMix64(state: seed))
        #expect(model.index(of: "0") == nil)
        for _ in 0..<2_000 {
            let key = "\(Int.random(in: 0..<200, using: &random))"
            if model.expected[key] != nil || Bool.random(using: &random) {
                model.remove(key)
            } else {
                model.insert(key)
            }
        }
        #expect(!model.expected.isEmpty)
        #expect(model.indices.count == model.expected.count)
        for number in 0..<200 {
            #expect(model.index(of: "\(number)") == model.expected["\(number)"])
        }
    }
}
