/// Bugs of a shard that simulations inject, to test that they detect them; never in production.
///
/// These are only bugs that no message between shards can show; other bugs are injected into the messages. None is
/// tested for on the path of an event to subscribers that it does not exclude.
package struct InjectedFaults: OptionSet, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Messages that wait for the next fan-out pass count as handed over.
    package static let marksWaiting = InjectedFaults(rawValue: 1)
    /// The stream of a channel without subscribers does not count the channel's events.
    package static let skipsVacantStreams = InjectedFaults(rawValue: 2)
    /// A replay counts as handed over with its first message.
    package static let marksReplays = InjectedFaults(rawValue: 16_384)
    /// A client that tracks a channel does not get the number of a live event that excludes it.
    package static let withholdsNumbers = InjectedFaults(rawValue: 4)

    // In a cluster.

    /// Every server counts as the same process, so none begins an epoch.
    package static let ignoresEpochs = InjectedFaults(rawValue: 8)
    /// Messages that Redis has refused because their stream has ended are sent again in another order.
    package static let reordersStale = InjectedFaults(rawValue: 16)
    /// Messages published before the reply to `attach` are delivered after the grants.
    package static let deliversEarly = InjectedFaults(rawValue: 32)
    /// A new member is granted before its own arrival is announced.
    package static let grantsBeforeArrival = InjectedFaults(rawValue: 64)
    /// The first message that was missed after a loss of the connection is left out.
    package static let skipsFirstMissed = InjectedFaults(rawValue: 128)
    /// No write after messages without a position proves that the server is a primary.
    package static let trustsPublish = InjectedFaults(rawValue: 256)
    /// A node that was declared dead does not register again.
    package static let ignoresFence = InjectedFaults(rawValue: 512)
    /// A node that becomes the leader of a partition ignores the waiting webhooks.
    package static let forgetsWebhooks = InjectedFaults(rawValue: 1_024)
    /// Publishers that wait for replicas are answered without their confirmation.
    package static let trustsPrimary = InjectedFaults(rawValue: 2_048)
    /// The server that the Sentinels name counts as the first one that they have named.
    package static let keepsEpochs = InjectedFaults(rawValue: 4_096)
    /// The answer of a Sentinel counts for ever.
    package static let keepsAnswers = InjectedFaults(rawValue: 8_192)
    /// The configuration epoch in which the Sentinels name a server is not sent to that server.
    package static let forgetsFailovers = InjectedFaults(rawValue: 32_768)
}
