/// Limits the rate of reads of a response.
///
/// A server that sends its response byte by byte would otherwise cause a wake-up, a read and a parser call for each
/// byte. The first reads are immediate; an ordinary response needs one to three. Each later pause is twice as long as
/// the preceding one, while the kernel buffers the arriving bytes. Within four seconds there are about thirty reads.
package struct AnswerPace: Sendable {
    /// The number of reads without a pause.
    package static let freeReadCount = 8
    /// The first pause, in milliseconds.
    package static let pauseMin: Int64 = 10
    /// The longest pause, in milliseconds, which bounds the delay of a response that is already slow.
    package static let pauseMax: Int64 = 250

    private var readCount = 0
    private var lastPause: Int64 = 0

    /// Creates the state of a response without reads.
    package init() {}

    /// Counts a read of the connection, and returns the pause before the next read, in milliseconds; zero for none.
    package mutating func pauseAfterRead() -> Int64 {
        readCount += 1
        guard readCount > Self.freeReadCount else { return 0 }
        lastPause = min(max(lastPause * 2, Self.pauseMin), Self.pauseMax)
        return lastPause
    }
}
