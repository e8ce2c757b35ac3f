public import PusherProtocol

/// What the IDs of stored streams follow from until something is published on them, so that the archive need not know them.
///
/// A channel has the same ID after a restart. When the archive forgets a stream, the seed of its channel's bucket changes, in
/// memory as in the file: an ID that had messages is not given again. Where the seed in memory differs from the file's, a
/// restart costs a gap that is reported, and no message.
public struct StreamSeeds: Sendable, Equatable {
    /// The number of buckets.
    public static let count = 1_024

    /// The seed of each bucket.
    public private(set) var values: [UInt64]

    /// Creates seeds from random bits.
    public init(from bits: UInt64) {
        var random = SplitMix64(state: bits)
        values = (0..<Self.count).map { _ in random.next() }
    }

    /// Creates the seeds of a file.
    ///
    /// - Parameters:
    ///   - values: A seed for each bucket.
    ///   - life: The life of the file; in another one all channels have other IDs.
    public init(_ values: [UInt64], life: Int64) {
        precondition(values.count == Self.count, "\(values.count) seeds")
        self.values = values.map { $0 &+ Self.step(life) }
    }

    /// The bucket of a channel.
    public static func bucket(of address: ChannelAddress) -> Int { address.home(among: count) }

    /// How a number changes a seed: the order in which streams are forgotten does not matter.
    public static func step(_ number: Int64) -> UInt64 {
        var random = SplitMix64(state: UInt64(bitPattern: number))
        return random.next()
    }

    /// The ID of a channel's stream on which nothing was published.
    public func id(of address: ChannelAddress) -> StreamID {
        let hash = address.app.hash(of: address.name.text)
        var random = SplitMix64(state: hash ^ values[Self.bucket(of: address)])
        return StreamID(bits: random.next())
    }

    /// Gives a channel another ID, because its stream with a number in the archive is forgotten.
    public mutating func forget(_ row: Int64, of address: ChannelAddress) {
        values[Self.bucket(of: address)] &+= Self.step(row)
    }
}
