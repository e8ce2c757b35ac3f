/// Limits the rate of reads of an answer.
///
/// A server that sends its answer byte by byte would otherwise cause a wake-up, a read and a parser call for each byte.
/// The first reads are immediate: an ordinary answer needs one to three. Each later pause is twice as long as the one
/// before, while the kernel buffers what arrives: within four seconds there are some thirty reads.
package struct AnswerPace: Sendable {
    /// The number of reads without a pause.
    package static let freeReadCount = 8
    /// The first pause, in milliseconds.
    package static let pauseMin: Int64 = 10
    /// The longest pause, in milliseconds.
    ///
    /// It bounds the delay of an answer, which is slow already.
    package static let pauseMax: Int64 = 250

    private var readCount = 0
    private var lastPause: Int64 = 0

    /// Creates the state of an answer without reads.
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
