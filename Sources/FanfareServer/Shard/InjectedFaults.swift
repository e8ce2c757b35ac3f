/// Bugs of a shard that simulations inject, to test that they detect them; never in production.
///
/// Only what no message between shards can show: other bugs are injected into those. None is tested for on the path of an
/// event to subscribers that it does not exclude.
package struct InjectedFaults: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// What waits for the next fan-out pass counts as handed over.
    package static let marksWaiting = InjectedFaults(rawValue: 1)
    /// The stream of a channel without subscribers does not count the channel's events.
    package static let skipsVacantStreams = InjectedFaults(rawValue: 2)
    /// A client that tracks a channel does not get the number of a live event that excludes it.
    package static let withholdsNumbers = InjectedFaults(rawValue: 4)
}
