import Testing

@testable import FanfareServer

@Suite("What one shard says to another") struct ShardMessageTests {
    @Test("Nothing that is rare makes room for itself in what is said of every event")
    func length() {
        #expect(MemoryLayout<ShardMessage>.stride <= 88)
        #expect(MemoryLayout<Grant>.size <= 8)
    }
}
