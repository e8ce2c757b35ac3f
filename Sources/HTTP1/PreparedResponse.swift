/// A response that is sent often: encoded once, except for its date and the fields of the server.
public final class PreparedResponse: Sendable {
    /// The response.
    public let response: Response
    /// The encoded response up to its date.
    private let start: [UInt8]
    /// The encoded response after the line of its date.
    private let rest: [UInt8]

    /// The framing of most requests, for which the response is prepared; for others it is encoded when it is sent.
    private static let usualFraming = AnswerFraming(keepAlive: true)

    /// Prepares a response that does not close its connection.
    public init(_ response: Response) {
        precondition(!response.closesConnection, "such an answer is not given often")
        self.response = response
        let date = [UInt8](repeating: 0, count: HTTPDate.length)
        let encoded = response.encode(for: Self.usualFraming, date: date)
        // No other byte of a head is zero.
        let dateOffset = encoded.firstIndex(of: 0) ?? 0
        start = Array(encoded[..<dateOffset])
        rest = Array(encoded[(dateOffset + date.count + 2)...])
    }

    /// Appends the response.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to append to.
    ///   - framing: The framing that the request requires.
    ///   - date: The date as encoded by ``HTTPDate``.
    ///   - serverFields: Encoded field lines, which follow the date.
    public func append(
        to bytes: inout [UInt8],
        for framing: AnswerFraming,
        date: [UInt8],
        serverFields: [UInt8] = []
    ) {
        guard framing == Self.usualFraming else {
            return response.append(
                to: &bytes,
                for: framing,
                date: date,
                serverFields: serverFields
            )
        }
        bytes.reserveCapacity(
            bytes.count + start.count + date.count + 2 + serverFields.count + rest.count
        )
        bytes.append(contentsOf: start)
        bytes.append(contentsOf: date)
        bytes.append("\r\n")
        bytes.append(contentsOf: serverFields)
        bytes.append(contentsOf: rest)
    }
}
