package import Broker

/// Where an archive keeps its rows: a file, or in a simulation a disk that loses what was not synced.
///
/// Confined to one thread at a time.
package protocol ArchiveStorage: AnyObject {
    /// The number of the last transaction.
    func lastTransaction() throws -> UInt64

    /// Performs changes in one transaction.
    ///
    /// - Parameters:
    ///   - changes: The changes, in order.
    ///   - number: The transaction's number, one more than the last one's.
    ///   - isDurable: Whether they must survive a loss of power when this returns.
    /// - Throws: Any error; then the transaction's number says whether it was performed.
    func perform(_ changes: [ArchiveChange], number: UInt64, isDurable: Bool) throws

    /// Writes sessions, in a transaction of their own, without a number: to repeat it changes nothing.
    func write(_ sessions: [SessionChange]) throws

    /// Deletes what the changes have added, where nobody knows whether they were performed.
    func revert(_ changes: [ArchiveChange]) throws

    /// Reads messages.
    func messages(_ query: ArchiveQuery) throws -> ArchivePage

    /// Deletes up to 500 rows that are too old or too many.
    ///
    /// - Parameter now: The time, in milliseconds since 1970.
    /// - Returns: Whether there are more.
    /// - Throws: The file's error.
    func removeExpired(at now: Int64) throws -> Bool
}
