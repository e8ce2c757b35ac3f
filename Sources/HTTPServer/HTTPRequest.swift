public import HTTP1
public import Net

/// A complete request to an ``HTTPService``.
public struct HTTPRequest: Sendable {
    /// The request line and the fields.
    public let head: RequestHead

    /// The content.
    public let body: [UInt8]

    /// The client's address; nil if the connection was lost before it could be read.
    public let remoteAddress: SocketAddress?

    /// Makes a request.
    public init(head: RequestHead, body: [UInt8], remoteAddress: SocketAddress? = nil) {
        self.head = head
        self.body = body
        self.remoteAddress = remoteAddress
    }

    /// The method.
    public var method: Method { head.method }

    /// The path as it was sent, percent-encoded and without the query.
    public var path: String { head.path }

    /// The query's pairs; empty without a query.
    public var query: Query { Query(head.query ?? "") }

    /// The content as a form; nil if it is not one.
    ///
    /// The media type is ignored.
    public var form: FormURLEncoded? { FormURLEncoded(decoding: body.span) }

    /// Returns the first value of a field.
    ///
    /// - Parameter name: The field's name, in upper or lower case.
    /// - Returns: The value; nil if there is none.
    public func field(_ name: String) -> String? { head.field(name) }
}
