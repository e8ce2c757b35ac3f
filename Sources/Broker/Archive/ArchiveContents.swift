/// What an archive has of earlier runs: the streams with their keys, and the sessions.
package struct ArchiveContents: Sendable {
    /// The streams; those of an earlier life need another ID.
    package var streams: [(stream: StoredStream, isCurrent: Bool)] = []
    /// The keys, by stream, in the order of their expiry.
    package var keys: [(row: Int64, serial: UInt64, key: StoredKey)] = []
    /// The first number that no stream has had.
    package var nextRow: Int64 = 1
    /// The seeds of the IDs of streams that are not in the archive.
    package var seeds = StreamSeeds(from: .random(in: 0 ... .max))
    /// The sessions of stock clients with a token.
    package var sessions = StoredSessions()

    /// Creates the contents of an empty archive.
    package init() {}
}
