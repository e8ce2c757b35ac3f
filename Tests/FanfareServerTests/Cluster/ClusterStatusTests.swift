import Logging
import Testing

@testable import Cluster
@testable import FanfareServer

@Suite("Cluster: the log of a loss of Redis") struct ClusterStatusTests {
    private let lines = LogLines()
    private let node: ClusterStatus
    private let status: StoreStatus

    init() {
        node = ClusterStatus(lines.logger())
        status = node.store("redis://localhost:6379")
    }

    @Test("All shards of a node log one line: that Redis is lost, and that it is back")
    func lossOfAllShards() {
        status.failed("redis://localhost:6379: closed")
        for _ in 0..<3 { status.lost() }
        for _ in 0..<2 { status.found() }
        #expect(
            lines.all == [
                "warning Redis is lost: events wait, then are refused with 503 "
                    + "reason=redis://localhost:6379: closed server=redis://localhost:6379"
            ]
        )
        status.found()
        #expect(lines.all.last == "notice Redis is back server=redis://localhost:6379")
        #expect(lines.all.count == 2)
    }

    @Test("Each stage of an isolation is logged once, and ends with all of them")
    func stages() {
        for _ in 0..<2 { status.change(from: .none, to: .isolated) }
        #expect(node.isIsolated && !node.isClosed)
        status.change(from: .isolated, to: .closed)
        // A shard that closes its clients early is isolated, too.
        status.change(from: .none, to: .closed)
        #expect(node.isIsolated && node.isClosed)
        #expect(lines.all.map { $0.prefix { $0 != " " } } == ["error", "error"])
        status.change(from: .closed, to: .none)
        status.change(from: .closed, to: .none)
        #expect(node.isIsolated && !node.isClosed)
        status.change(from: .isolated, to: .none)
        #expect(!node.isIsolated)
    }

    @Test("A node without one of its stores is isolated, and refuses clients without all of them")
    func severalStores() {
        let other = node.store("redis://localhost:6380")
        #expect(node.store("redis://localhost:6380") === other)
        status.failed("closed")
        #expect(node.lastFault == "closed")
        status.change(from: .none, to: .closed)
        #expect(node.isIsolated && !node.isClosed && !other.isIsolated)
        other.change(from: .none, to: .closed)
        #expect(node.isClosed)
        status.change(from: .closed, to: .none)
        #expect(node.isIsolated && !node.isClosed)
        #expect(lines.all.count == 4)
    }
}
