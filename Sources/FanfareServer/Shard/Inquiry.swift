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
    /// Gets all the answers together, once.
    let finish: ([ChannelCount]) -> Void

    /// Makes an inquiry of which `awaitedAnswers` homes were asked, at least one.
    init(awaitedAnswers: Int, finish: @escaping ([ChannelCount]) -> Void) {
        self.awaitedAnswers = awaitedAnswers
        self.finish = finish
    }

    /// Takes in one home's answer; returns all of them when it was the last one awaited.
    mutating func receive(_ answer: [ChannelCount]) -> [ChannelCount]? {
        counts += answer
        awaitedAnswers -= 1
        return awaitedAnswers == 0 ? counts : nil
    }
}
