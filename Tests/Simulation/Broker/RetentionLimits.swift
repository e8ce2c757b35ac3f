import Broker

extension RetainedSizes {
    /// Checks that no channel keeps more than its limits allow, and that all that is kept is counted.
    ///
    /// - Parameters:
    ///   - messagesMax: The most messages of a channel.
    ///   - bytesMax: The most bytes of a channel.
    /// - Throws: A limit is exceeded.
    func check(messagesMax: Int, bytesMax: Int = .max) throws(Violation) {
        guard channelMessages <= messagesMax, channelBytes <= bytesMax else {
            throw Violation(
                .budgets,
                "a channel keeps \(channelMessages) messages or \(channelBytes) bytes, "
                    + "and may keep \(messagesMax) and \(bytesMax)"
            )
        }
        guard countedByteCount == byteCount else {
            throw Violation(
                .budgets,
                "\(byteCount) bytes are kept, and \(countedByteCount) are counted"
            )
        }
    }
}
