import Broker

/// The size of a portion of a round of ``Confirmations`` in one turn of a loop with little other work.
///
/// Also the length that is replayed to a client before it is asked.
package struct ConfirmationPortions: Sendable {
    /// The maximum number of clients whose marks are recorded.
    let notedMax: Int
    /// The maximum number of clients that are asked.
    let askedMax: Int
    /// The length of the shortest part of a replay after which a client is asked, in bytes.
    let replayLengthMin: Int

    /// Creates settings.
    package init(
        notedMax: Int = 4_096,
        askedMax: Int = 1_024,
        replayLengthMin: Int = ConfirmationPings.partLengthMin
    ) {
        (self.notedMax, self.askedMax) = (notedMax, askedMax)
        self.replayLengthMin = replayLengthMin
    }

    /// The portions in a turn of a loop that is behind with its work.
    var whenBehind: ConfirmationPortions {
        ConfirmationPortions(notedMax: (notedMax + 15) / 16, askedMax: (askedMax + 15) / 16)
    }
}
