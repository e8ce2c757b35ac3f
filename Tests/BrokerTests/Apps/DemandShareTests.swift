import Broker
import PusherProtocol
import Testing

@Suite("Limits that several nodes share") struct DemandShareTests {
    @Test(
        "A share follows the demand, and is at least half of an equal one",
        arguments: [
            // rate, demand, total, nodes, share
            (100, 0, 0, 1, 100), (100, 7, 7, 1, 100), (100, 0, 0, 4, 25), (100, 5, 5, 2, 100),
            (100, 0, 5, 2, 25), (100, 30, 40, 4, 75), (100, 1, 100, 4, 13), (1, 0, 9, 3, 1),
            (3, 1, 3, 3, 1), (10, 1, 3, 2, 4), (1_000_000_000, 1, 2, 2, 500_000_000),
            // What a node knows of the others may be late.
            (100, 5, 3, 2, 100), (100, 5, 5, 0, 100),
        ]
    )
    func share(rate: Int, demand: Int, total: Int, nodes: Int, share: Int) {
        #expect(
            DemandShare.share(of: rate, demand: demand, total: total, nodeCount: nodes) == share
        )
    }

    @Test("All nodes together have the rate, and at most half as much again")
    func sums() {
        for nodes in 1...5 {
            for busy in 0..<nodes {
                let demands = (0..<nodes).map { $0 <= busy ? 10 * ($0 + 1) : 0 }
                let sum = demands.reduce(0) { sum, demand in
                    sum
                        + DemandShare.share(
                            of: 1_000,
                            demand: demand,
                            total: demands.reduce(0, +),
                            nodeCount: nodes
                        )
                }
                #expect((1_000...1_500 + nodes).contains(sum), "\(demands)")
            }
        }
    }

    @Test func demandIsThatOfTheLastSeconds() {
        var window = DemandWindow()
        #expect(window.read(100, at: 0) == 0)
        #expect(window.read(110, at: 2_000) == 10)
        #expect(window.read(110, at: 4_000) == 10)
        #expect(window.read(115, at: 6_000) == 15)
        // The reading at 2,000 is the base now.
        #expect(window.read(115, at: 7_000) == 5)
        #expect(window.read(115, at: 60_000) == 0)
        // The app has been replaced, and counts anew.
        #expect(window.read(3, at: 61_000) == 0)
    }

    @Test func usageIsReadAsWritten() throws {
        let apps: [AppID: AppUsage] = [
            AppID("1"): AppUsage(connections: 3, demands: [1, 2, 3, 4]),
            AppID("a b"): AppUsage(connections: 0, demands: [0, 0, 0, 9]),
        ]
        let usage = NodeUsage(time: 99, apps: apps)
        #expect(NodeUsage(usage.text) == usage)
        #expect(NodeUsage("7") == NodeUsage(time: 7, apps: [:]))
        for text in ["", "x", "7\n", "7\n1 2 3 4 5", "7\n1 2 3 4 -5 a", "7\n1 2 3 4 x a"] {
            #expect(NodeUsage(text) == nil, "\(text)")
        }
        var sum = apps[AppID("1")] ?? AppUsage(connections: 0, demands: [])
        sum.add(AppUsage(connections: 1, demands: [1, 1, 1, 1]))
        #expect(sum == AppUsage(connections: 4, demands: [2, 3, 4, 5]))
    }

    @Test func sharesOfARateAreUsed() {
        let allowance = RequestAllowance(RequestRates(triggers: Rate(perSecond: 4)))
        #expect(allowance.isLimited)
        func taken(at now: Int64) -> Int {
            (0..<10).count { _ in (try? allowance.take(.trigger, at: now)) != nil }
        }
        #expect(taken(at: 0) == 4)
        allowance.divide { index, rate in
            #expect(index == 1 && rate == 4)
            return 1
        }
        #expect(taken(at: 10_000_000_000) == 1)
        allowance.divide { _, _ in 9 }
        #expect(taken(at: 20_000_000_000) == 4)
        #expect(allowance.askedCounts == [0, 30, 0, 0])
        #expect(!RequestAllowance(RequestRates()).isLimited)
    }
}
