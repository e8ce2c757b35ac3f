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
        let date = Array("Date".utf8)
        let whole = response.encode(for: Self.usualFraming, date: date)
        let head = Array(
            "HTTP/1.1 \(response.status.code) \(response.status.reason)\r\nDate: ".utf8
        )
        partBeforeDate = head
        partBehindDate = Array(whole[(head.count + date.count)...])
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
