import Broker
import PusherProtocol

/// What can be asked of the homes of channels.
enum Question: Sendable {
    /// The occupied channels of an app that begin with a prefix.
    case occupiedChannels(AppID, prefix: String)
    /// The subscription counts of these channels, vacant ones included.
    case subscriptionCounts([ChannelAddress])
}

/// A channel and the number of connections subscribed to it.
struct ChannelCount: Sendable {
    var name: ChannelName
    var subscriptionCount: Int
}

/// Names an inquiry among those of the shard that makes it.
typealias InquiryID = UInt64

/// A question that several homes answer, each a part of it.
struct Inquiry {
    private var awaitedAnswers: Int
    private var counts: [ChannelCount] = []
    private let finish: ([ChannelCount]) -> Void

    /// - Parameters:
    ///   - awaitedAnswers: How many homes were asked, at least one.
    ///   - finish: Gets all the answers together, once.
    init(awaitedAnswers: Int, finish: @escaping ([ChannelCount]) -> Void) {
        self.awaitedAnswers = awaitedAnswers
        self.finish = finish
    }

    /// Takes in one home's answer.
    ///
    /// - Returns: Whether it was the last one awaited; the asker has its answer then.
    mutating func receive(_ answer: [ChannelCount]) -> Bool {
        counts += answer
        awaitedAnswers -= 1
        guard awaitedAnswers == 0 else { return false }
        finish(counts)
        return true
    }
}
