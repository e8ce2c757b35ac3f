/// An answer that is given often: encoded once, but for its date, and handed on as one object.
public final class PreparedResponse: Sendable {
    /// The answer.
    public let response: Response
    /// The answer with room for the date at `datePlace`.
    private let encoded: [UInt8]
    private let datePlace: Int

    /// The request whose answer is prepared, as nearly all are; any other's is encoded when it is sent.
    private static let usualFraming = AnswerFraming(keepAlive: true)

    /// Prepares an answer.
    ///
    /// - Parameter response: One that does not close its connection.
    public init(_ response: Response) {
        precondition(!response.closesConnection, "such an answer is not given often")
        self.response = response
        let date = [UInt8](repeating: 0, count: HTTPDate.length)
        encoded = response.encode(for: Self.usualFraming, date: date)
        // No other byte of a head is zero.
        datePlace = encoded.firstIndex(of: 0) ?? 0
    }

    /// Appends the answer.
    ///
    /// - Parameters:
    ///   - bytes: What is to be sent.
    ///   - framing: What of the request matters.
    ///   - date: As ``HTTPDate`` writes it.
    public func append(to bytes: inout [UInt8], for framing: AnswerFraming, date: [UInt8]) {
        guard framing == Self.usualFraming else {
            return response.append(to: &bytes, for: framing, date: date)
        }
        precondition(date.count == HTTPDate.length, "a date has a fixed length")
        let place = bytes.count + datePlace
        bytes.append(contentsOf: encoded)
        bytes.withUnsafeMutableBufferPointer { bytes in
            _ = bytes[place...].update(fromContentsOf: date)
        }
    }
}
