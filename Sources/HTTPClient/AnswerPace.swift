/// How soon a connection is read again while a server answers.
///
/// A server that sends its answer byte by byte would otherwise cost a wake-up, a read and a pass through the parser
/// for each byte, at a pace of its choice. The first reads follow each other at once, as an ordinary answer needs one
/// to three. Later ones wait, each twice as long as the one before, while the kernel collects what arrives: within four
/// seconds that makes some thirty reads.
package struct AnswerPace: Sendable {
    /// The reads without a pause.
    package static let freeReadCount = 8
    /// The first pause, in milliseconds.
    package static let pauseMin: Int64 = 10
    /// The longest pause, in milliseconds: the most that it delays an answer, which is late already.
    package static let pauseMax: Int64 = 250

    private var readCount = 0
    private var lastPause: Int64 = 0

    /// Begins with no read.
    package init() {}

    /// Counts a read of the connection.
    ///
    /// - Returns: The pause before the next read, in milliseconds; zero for none.
    package mutating func pauseAfterRead() -> Int64 {
        readCount += 1
        guard readCount > Self.freeReadCount else { return 0 }
        lastPause = min(max(lastPause * 2, Self.pauseMin), Self.pauseMax)
        return lastPause
    }
}
