import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Shard

@Suite("Dictionaries of many segments") struct SegmentedDictionaryTests {
    @Test("It is a dictionary, while it grows and shrinks", arguments: [100, 5_000])
    func dictionary(keyCount: UInt64) {
        var random = SystemRandomNumberGenerator()
        var segmented = SegmentedDictionary<SocketID, Int>()
        var whole: [SocketID: Int] = [:]
        for step in 0..<40_000 {
            let key = SocketID(1, .random(in: 0..<keyCount, using: &random))
            switch step % 4 {
            case 0, 1: (segmented[key], whole[key]) = (step, step)
            case 2 where step > 20_000: (segmented[key], whole[key]) = (nil, nil)
            case 3 where step > 20_000:
                #expect(segmented.removeValue(forKey: key) == whole.removeValue(forKey: key))
            default: #expect(segmented[key] == whole[key])
            }
        }
        #expect(segmented.count == whole.count && segmented.isEmpty == whole.isEmpty)
        for number in 0..<keyCount {
            let key = SocketID(1, number)
            #expect(segmented[key] == whole[key])
        }
    }
}
