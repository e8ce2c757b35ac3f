import PusherProtocol
import Testing

@testable import Broker

@Suite("The table of streams by channel")
struct StreamIndicesTests {
    /// The table, and what it should say.
    private struct Model {
        var streams: [ChannelStream?] = []
        var indices = StreamIndices()
        var expected: [ChannelAddress: Int] = [:]

        mutating func insert(_ address: ChannelAddress) {
            let rule = SharedRule(RecoveryRule())
            let stream = ChannelStream(StreamID(bits: 1), of: address, rule)
            let index = streams.firstIndex { $0 == nil } ?? streams.count
            if index == streams.count { streams.append(stream) } else { streams[index] = stream }
            indices.insert(index, in: streams)
            expected[address] = index
        }

        mutating func remove(_ address: ChannelAddress) {
            indices.remove(address, in: streams)
            if let index = expected.removeValue(forKey: address) { streams[index] = nil }
        }
    }

    private static func address(_ number: Int) throws -> ChannelAddress {
        ChannelAddress(app: AppID("\(number % 3)"), name: try ChannelName("room-\(number / 3)"))
    }

    @Test("It finds each stream, and none that was removed", arguments: 1...8)
    func finds(seed: UInt64) throws {
        var (model, random) = (Model(), SplitMix64(state: seed))
        #expect(model.indices.index(of: try Self.address(0), in: model.streams) == nil)
        for _ in 0..<2_000 {
            let address = try Self.address(.random(in: 0..<200, using: &random))
            if model.expected[address] != nil || Bool.random(using: &random) {
                model.remove(address)
            } else {
                model.insert(address)
            }
        }
        #expect(!model.expected.isEmpty)
        #expect(model.indices.count == model.expected.count)
        for number in 0..<200 {
            let address = try Self.address(number)
            let index = model.indices.index(of: address, in: model.streams)
            #expect(index == model.expected[address], "\(address)")
        }
    }
}
