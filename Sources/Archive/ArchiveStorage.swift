package import Broker

/// The storage of an archive's rows: a file, or in a simulation a disk that loses unsynced data.
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
    /// - Throws: Any error; then the transaction's number shows whether it was performed.
    func perform(_ changes: [ArchiveChange], number: UInt64, isDurable: Bool) throws

    /// Writes sessions in a separate transaction without a number; repeating it changes nothing.
    func write(_ sessions: [SessionChange]) throws

    /// Deletes what the changes may have added, if it is unknown whether they were performed.
    func revert(_ changes: [ArchiveChange]) throws

    /// Reads messages.
    func messages(_ query: ArchiveQuery) throws -> ArchivePage

    /// Deletes up to 500 expired or excess rows, and returns whether there are more; `now` is in milliseconds since
    /// 1970.
    func removeExpired(at now: Int64) throws -> Bool
}
