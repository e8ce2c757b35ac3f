public import PusherProtocol

/// The seeds of the IDs of stored streams on which nothing was published, so that the archive needs no record of them.
///
/// A channel has the same ID after a restart. When the archive removes a stream, the seed of its channel's bucket
/// changes, both in memory and in the file. So an ID that had messages is not assigned again. If the seed in memory
/// differs from the file's, a restart causes a gap that is reported, but loses no message.
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
    ///   - life: A number of the file; in another file all channels have other IDs.
    public init(_ values: [UInt64], life: Int64) {
        precondition(values.count == Self.count, "\(values.count) seeds")
        self.values = values.map { $0 &+ Self.step(life) }
    }

    /// The bucket of a channel.
    public static func bucket(of address: ChannelAddress) -> Int { address.home(among: count) }

    /// The change of a seed by a number; the order in which streams are removed does not matter.
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

    /// Gives a channel another ID, because its stream with this number in the archive was removed.
    public mutating func forget(_ row: Int64, of address: ChannelAddress) {
        values[Self.bucket(of: address)] &+= Self.step(row)
    }
}
