import Broker
import PusherProtocol
import Testing

@testable import Cluster
@testable import FanfareServer
@testable import Shard

@Suite("Cluster: pages of a list of channels") struct ClusterListingTests {
    /// Lists all names of some partitions, and returns the most names that were read for one page.
    private func list(
        _ partitions: [[String]],
        limit: Int
    ) -> (listed: [String], readMax: Int) {
        var (listed, readMax, isComplete) = ([String](), 0, false)
        while !isComplete {
            let range = ChannelRange(
                app: AppID("1"),
                prefix: "",
                cursor: listed.last ?? "",
                info: [],
                limit: limit
            )
            let listing = ClusterListing(range) { _ in }
            let part = listing.limit(ofPartitionsAmong: partitions.count)
            for names in partitions {
                let read = names.drop { $0 <= range.cursor }.prefix(part)
                listing.append(Array(read), hasMore: read.count == part)
            }
            readMax = max(readMax, listing.readCount)
            isComplete = listing.isComplete
            let next = listing.names.map(\.text)
            #expect(next == next.sorted() && next.count <= limit)
            guard isComplete || !next.isEmpty else { return (listed, readMax) }
            listed += next
        }
        return (listed, readMax)
    }

    // Each partition used to be asked for a whole page: 131,072 names for one of 512.
    @Test(
        "A page needs few more names than it has, and nothing is left out or listed twice",
        arguments: [1, 3, 256],
        [1, 8, 512]
    )
    func pages(partitionCount: Int, limit: Int) throws {
        let names = (0..<3_000).map { "room-\($0)" }
        var partitions = Array(repeating: [String](), count: partitionCount)
        for name in names.sorted() {
            let address = ChannelAddress(
                app: AppID("1"),
                name: try ChannelName(name, limits: .init())
            )
            partitions[address.home(among: partitionCount)].append(name)
        }
        let (listed, readMax) = list(partitions, limit: limit)
        #expect(listed == names.sorted())
        #expect(readMax <= max(2 * limit, 8 * partitionCount))
    }
}
