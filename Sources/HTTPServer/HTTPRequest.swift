public import HTTP1
public import Net

/// A whole request, as an ``HTTPService`` gives it to its app.
public struct HTTPRequest: Sendable {
    /// Request line and fields.
    public let head: RequestHead

    /// The content.
    public let body: [UInt8]

    /// Where the request came from; nil if the client had gone before it could be asked.
    public let remoteAddress: SocketAddress?

    /// Puts a request together.
    ///
    /// - Parameters:
    ///   - head: Request line and fields.
    ///   - body: The content.
    ///   - remoteAddress: Where it came from.
    public init(head: RequestHead, body: [UInt8], remoteAddress: SocketAddress? = nil) {
        self.head = head
        self.body = body
        self.remoteAddress = remoteAddress
    }

    /// What is to be done.
    public var method: Method { head.method }

    /// The path as it was sent, percent-encoded and without the query.
    public var path: String { head.path }

    /// The query's pairs; none when there is no query.
    public var query: Query { Query(head.query ?? "") }

    /// The content as a form; nil when it is not one.
    ///
    /// The media type is not looked at.
    public var form: FormURLEncoded? { FormURLEncoded(decoding: body.span) }

    /// The first value of a field.
    ///
    /// - Parameter name: In any case of letters.
    /// - Returns: nil when there is none.
    public func field(_ name: String) -> String? { head.field(name) }
}
