public import Foundation

import HTTPClient
import Primitives

/// Sends a request of a list to its backend and returns the response.
public typealias ListExchange = @Sendable (ListRequest) async throws -> ListAnswer

/// A request of a list to its backend.
public struct ListRequest: Sendable, Equatable {
    /// The request method: `GET` or `POST`.
    public var method: String
    /// The URL.
    public var url: URL
    /// The fields, by name.
    public var fields: [String: String]
    /// The content.
    public var content: Data

    /// Creates a request.
    package init(method: String, url: URL, fields: [String: String] = [:], content: Data = Data()) {
        self.method = method
        self.url = url
        self.fields = fields
        self.content = content
    }
}

/// A backend's response to a list.
public struct ListAnswer: Sendable, Equatable {
    /// The HTTP status.
    public var status: Int
    /// The content.
    public var content: Data

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - content: The content.
    public init(status: Int, content: Data) {
        self.status = status
        self.content = content
    }
}

/// The HTTP client of a list; it connects at the first request.
final class ListHTTPClient: Sendable {
    /// The maximum length of a response, in bytes: enough for a snapshot of a hundred thousand rows.
    private static let answerLengthMax = 32 << 20

    private let transport = Lock<(any HTTPTransport)?>(nil)

    @Sendable func send(_ request: ListRequest) async throws -> ListAnswer {
        guard let resource = HTTPResource(request.url.absoluteString) else {
            throw HTTPFailure.invalidURL(request.url.absoluteString)
        }
        let call = HTTPCall(
            method: request.method,
            target: resource.target,
            fields: request.fields.map { HTTPField($0.key, $0.value) },
            body: Array(request.content),
            // Idempotent: the backend recognises a repeated edit by its mutation ID.
            isRepeatable: true,
            answerLengthMax: Self.answerLengthMax
        )
        let answer = try await connection(to: resource.address).send(call)
        return ListAnswer(status: answer.status, content: Data(answer.body))
    }

    private func connection(to address: HTTPAddress) throws -> any HTTPTransport {
        try transport.withLock { transport in
            let current = try transport ?? platformTransport(to: address)
            transport = current
            return current
        }
    }
}
