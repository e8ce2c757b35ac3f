public import Foundation

/// Sends a request of a list to its backend and gives its answer.
public typealias ListExchange = @Sendable (ListRequest) async throws -> ListAnswer

/// A request of a list to its backend.
public struct ListRequest: Sendable, Equatable {
    /// The request method: `GET` or `POST`.
    public var method: String
    /// Where it goes.
    public var url: URL
    /// The fields, by name.
    public var fields: [String: String]
    /// The content.
    public var content: Data

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - method: The request method.
    ///   - url: Where it goes.
    ///   - fields: The fields, by name.
    ///   - content: The content.
    public init(method: String, url: URL, fields: [String: String] = [:], content: Data = Data()) {
        self.method = method
        self.url = url
        self.fields = fields
        self.content = content
    }
}

/// A backend's answer to a list.
public struct ListAnswer: Sendable, Equatable {
    /// The HTTP status.
    public var status: Int
    /// The content.
    public var content: Data

    /// Makes an answer.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - content: The content.
    public init(status: Int, content: Data) {
        self.status = status
        self.content = content
    }
}
