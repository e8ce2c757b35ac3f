/// When the subscribers of a channel are told how many they are (Pusher documentation, "Subscription count").
///
/// Of a small channel each change is told. In a large one every notice goes to many, so it is told at most every five
/// seconds while the count changes, and the last count always. All times are milliseconds of one steady clock.
public struct CountNotices: Sendable {
    /// A channel with more subscribers than this is large.
    public static let smallChannelMax = 100
    /// The time between two notices of a large channel.
    public static let interval: Int64 = 5_000

    private struct Told {
        var at: Int64
        /// Whether the count has changed since.
        var isStale = false
    }

    /// The large channels of which something was told.
    private var told: [ChannelAddress: Told] = [:]

    /// Makes the notices of channels that were never told anything.
    public init() {}

    /// Whether ``due(at:)`` has nothing to say, and nothing to forget.
    public var isEmpty: Bool { told.isEmpty }

    /// Takes in that a channel's count has changed.
    ///
    /// - Parameters:
    ///   - address: The channel.
    ///   - count: How many subscribers it has now.
    ///   - now: The time.
    /// - Returns: Whether they are to be told now; if not, ``due(at:)`` names the channel later.
    public mutating func changed(_ address: ChannelAddress, to count: Int, at now: Int64) -> Bool {
        guard count > CountNotices.smallChannelMax else {
            told[address] = nil
            return count > 0
        }
        if let last = told[address], now - last.at < CountNotices.interval {
            told[address]?.isStale = true
            return false
        }
        told[address] = Told(at: now)
        return true
    }

    /// The channels whose subscribers are to be told a count that they do not know yet; each is named once.
    public mutating func due(at now: Int64) -> [ChannelAddress] {
        var addresses: [ChannelAddress] = []
        for (address, last) in told where now - last.at >= CountNotices.interval {
            if last.isStale { addresses.append(address) }
            // Whoever is told now has to wait again; who had nothing to be told is forgotten.
            told[address] = last.isStale ? Told(at: now) : nil
        }
        return addresses
    }
}
