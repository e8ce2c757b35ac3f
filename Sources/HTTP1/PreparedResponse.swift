/// A response that is sent often: encoded once, except for its date.
public final class PreparedResponse: Sendable {
    /// The answer.
    public let response: Response
    /// The encoded response, with a placeholder for the date at `dateOffset`.
    private let encoded: [UInt8]
    private let dateOffset: Int

    /// The framing of most requests, for which the response is prepared; for others it is encoded when it is sent.
    private static let usualFraming = AnswerFraming(keepAlive: true)

    /// Prepares a response.
    ///
    /// - Parameter response: A response that does not close its connection.
    public init(_ response: Response) {
        precondition(!response.closesConnection, "such an answer is not given often")
        self.response = response
        let date = [UInt8](repeating: 0, count: HTTPDate.length)
        encoded = response.encode(for: Self.usualFraming, date: date)
        // No other byte of a head is zero.
        dateOffset = encoded.firstIndex(of: 0) ?? 0
    }

    /// Appends the response.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to append to.
    ///   - framing: The framing that the request requires.
    ///   - date: The date as encoded by ``HTTPDate``.
    public func append(to bytes: inout [UInt8], for framing: AnswerFraming, date: [UInt8]) {
        guard framing == Self.usualFraming else {
            return response.append(to: &bytes, for: framing, date: date)
        }
        precondition(date.count == HTTPDate.length, "a date has a fixed length")
        let offset = bytes.count + dateOffset
        bytes.append(contentsOf: encoded)
        bytes.withUnsafeMutableBufferPointer { bytes in
            _ = bytes[offset...].update(fromContentsOf: date)
        }
    }
}
