/// What clients can make a list grow to.
package struct ListLimits: Equatable, Sendable {
    /// The most rows of a list.
    package var rowsMax = 1_000
    /// The most operations of one commit.
    package var operationsMax = 200
    /// The most bytes of the event that tells of a commit; a broker takes 10 KiB by default.
    package var eventLengthMax = 10_000
    /// The most characters of a mutation's name.
    package var mutationLengthMax = 64
    /// How many commits back a mutation is recognised, and a removed row is known as an anchor.
    package var memoryMax: Int64 = 5_000

    /// Takes the limits above.
    package init() {}

    /// Takes the limits above, but for the number of rows.
    package init(rowsMax: Int) { self.rowsMax = rowsMax }
}
