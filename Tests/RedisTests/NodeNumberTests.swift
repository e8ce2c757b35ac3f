import RESP
import Redis
import Testing

@Suite("Scripts: the numbers of nodes") struct NodeNumberTests {
    private func claim(
        _ node: String,
        _ former: Int = 0,
        lifetime: Int = 60_000,
        in store: ClusterStore
    ) throws -> Int64 {
        try store.send(store.calls(of: node).claimNumber(former: former, lifetime: lifetime)) {
            $0.integer
        }
    }

    @Test func differ() throws {
        let store = try ClusterStore()
        #expect(try claim("a", in: store) == 1)
        #expect(try claim("b", in: store) == 2)
        // A renewal.
        #expect(try claim("a", 1, in: store) == 1)
        // The number of another node is not taken, however it was come by.
        #expect(try claim("c", 2, in: store) == 3)
    }

    @Test("A node keeps its number when the store has lost it") func survivesAnEmptyStore() throws {
        let store = try ClusterStore()
        #expect(try claim("a", 2, in: store) == 2)
        #expect(try claim("b", in: store) == 1)
        #expect(try claim("c", in: store) == 3)
    }

    @Test func areLimited() throws {
        let store = try ClusterStore()
        for number in 1...1_023 {
            #expect(try claim("\(number)", in: store) == Int64(number))
        }
        #expect(try claim("z", in: store) == 0)
        // The number that was renewed first is not renewed in time.
        #expect(try claim("z", lifetime: -1, in: store) == 1)
        #expect(try claim("1", 1, in: store) == 0)
    }
}
