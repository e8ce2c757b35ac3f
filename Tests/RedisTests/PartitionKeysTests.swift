import RESP
import TestRedis
import Testing

@testable import Redis

@Suite("Keys of partitions") struct PartitionKeysTests {
    @Test func computesTheChecksumOfTheSpecification() {
        #expect(HashSlot.checksum("123456789".utf8) == 0x31C3)
        #expect(HashSlot.slot(of: "".utf8) == 0)
    }

    @Test func spreadsPartitionsOverTheSlotsOfARealCluster() throws {
        let redis = try RedisProcess(["--cluster-enabled", "yes"])
        let live = try LiveRedis.opened(redis)
        #expect(live.owner.server?.mode == .cluster)
        let partitions = PartitionKeys.all(prefix: "f")
        #expect(partitions.count == 256)
        let channel = ClusterChannel(app: "1", name: "presence-a")
        for (number, keys) in partitions.enumerated() {
            let all = [keys.epoch, keys.messages(channel), keys.items(of: "web-1:6001")]
            for key in all {
                let slot = try #require(Int(live.call("CLUSTER", "KEYSLOT", "\(key)").text))
                #expect(slot / 64 == number && slot == keys.slot)
            }
        }
    }

    @Test func namesKeys() {
        let keys = PartitionKeys.all(prefix: "f", count: 1)[0]
        let channel = ClusterChannel(app: "1", name: "a@b")
        let names = [
            keys.epoch, keys.items(of: "web-1"), keys.messages(channel), keys.idempotency("1", "k"),
        ]
        #expect(
            names.map(\.description) == [
                "f:{0-0}:g", "f:{0-0}:i:web-1", "f:{0-0}:h:1:a@b", "f:{0-0}:x:1:k",
            ]
        )
        for name in names { #expect(name.length == name.description.utf8.count) }
    }
}
