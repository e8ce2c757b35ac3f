import Logging
import Testing

@testable import FanfareServer

@Suite("Cluster: the log of a loss of Redis") struct ClusterStatusTests {
    private let lines = LogLines()
    private let status: ClusterStatus

    init() { status = ClusterStatus("redis://localhost:6379", lines.logger()) }

    @Test("All shards of a node log one line: that Redis is lost, and that it is back")
    func lossOfAllShards() {
        status.failed("redis://localhost:6379: closed")
        for _ in 0..<3 { status.lost() }
        for _ in 0..<2 { status.found() }
        #expect(
            lines.all == [
                "warning Redis is lost: events wait, then they are refused with 503 "
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
        #expect(status.isIsolated && !status.isClosed)
        status.change(from: .isolated, to: .closed)
        // A shard that closes its clients early is isolated, too.
        status.change(from: .none, to: .closed)
        #expect(status.isIsolated && status.isClosed)
        #expect(lines.all.map { $0.prefix { $0 != " " } } == ["error", "error"])
        status.change(from: .closed, to: .none)
        status.change(from: .closed, to: .none)
        #expect(status.isIsolated && !status.isClosed)
        status.change(from: .isolated, to: .none)
        #expect(!status.isIsolated)
    }
}
