/// An answer that is given often: encoded once, but for its date.
public struct PreparedResponse: Sendable {
    /// The answer.
    public let response: Response
    private let partBeforeDate: [UInt8]
    private let partBehindDate: [UInt8]

    /// The request whose answer is prepared, as nearly all are; any other's is encoded when it is sent.
    private static let usualFraming = AnswerFraming(keepAlive: true)

    /// Prepares an answer.
    ///
    /// - Parameter response: One that does not close its connection.
    public init(_ response: Response) {
        precondition(!response.closesConnection, "such an answer is not given often")
        self.response = response
        let undated = response.encode(for: Self.usualFraming, date: [])
        let dated = response.encode(for: Self.usualFraming, date: [0])
        // No head holds a zero byte: the first difference is the date's place.
        let place = zip(undated, dated).prefix { $0 == $1 }.count
        partBeforeDate = Array(undated[..<place])
        partBehindDate = Array(undated[place...])
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
        let length = partBeforeDate.count + date.count + partBehindDate.count
        if bytes.isEmpty { bytes.reserveCapacity(length) }
        bytes.append(contentsOf: partBeforeDate)
        bytes.append(contentsOf: date)
        bytes.append(contentsOf: partBehindDate)
    }
}
