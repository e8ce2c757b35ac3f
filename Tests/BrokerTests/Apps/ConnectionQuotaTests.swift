import Testing

import Broker

@Suite("Connection quotas") struct ConnectionQuotaTests {
    @Test func placesAreTakenAndReturned() {
        let quota = ConnectionQuota(limit: 2)
        #expect(quota.take())
        #expect(quota.take())
        #expect(!quota.take())
        // A refusal takes no place.
        #expect(!quota.take())
        quota.giveBack()
        #expect(quota.take())
        #expect(!quota.take())
    }

    @Test func canBeResizedInUse() {
        let quota = ConnectionQuota(limit: 3)
        #expect(quota.isUnused)
        for _ in 0..<3 { #expect(quota.take()) }
        quota.resize(to: 1)
        #expect(!quota.take())
        quota.giveBack()
        #expect(!quota.take())
        quota.giveBack()
        quota.giveBack()
        #expect(quota.isUnused)
        #expect(quota.take())
        #expect(!quota.take())
        quota.resize(to: 2)
        #expect(quota.take())
        #expect(!quota.take())
    }

    @Test func areNeverExceededByManyAtOnce() async {
        let quota = ConnectionQuota(limit: 100)
        let taken = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<100).reduce(0) { count, _ in count + (quota.take() ? 1 : 0) } }
            }
            return await group.reduce(0, +)
        }
        #expect(taken == 100)
    }
}
