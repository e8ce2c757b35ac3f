import Testing

@testable import FanfareServer
@testable import Shard

@Suite("Messages between shards") struct ShardMessageTests {
    @Test("Rare messages do not increase the size of event messages")
    func length() {
        #expect(MemoryLayout<ShardMessage>.stride <= 88)
        #expect(MemoryLayout<Grant>.size <= 8)
    }
}
