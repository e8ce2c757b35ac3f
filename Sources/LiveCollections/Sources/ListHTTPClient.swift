import Foundation
import HTTPClient
import Synchronization

/// The connections to a list's backend, made when it is first asked.
final class ListHTTPClient: Sendable {
    /// The longest answer that is read, in bytes: a snapshot of a hundred thousand rows.
    private static let answerLengthMax = 32 << 20

    private let transport = Mutex<(any HTTPTransport)?>(nil)

    @Sendable func send(_ request: ListRequest) async throws -> ListAnswer {
        guard let resource = HTTPResource(request.url.absoluteString) else {
            throw HTTPFailure.invalidURL(request.url.absoluteString)
        }
        let call = HTTPCall(
            method: request.method,
            target: resource.target,
            fields: request.fields.map { HTTPField($0.key, $0.value) },
            body: Array(request.content),
            // The backend knows an edit that comes twice by its mutation.
            isRepeatable: true,
            answerLengthMax: Self.answerLengthMax
        )
        let answer = try await line(to: resource.address).send(call)
        return ListAnswer(status: answer.status, content: Data(answer.body))
    }

    private func line(to address: HTTPAddress) throws -> any HTTPTransport {
        try transport.withLock { transport in
            let line = try transport ?? platformTransport(to: address)
            transport = line
            return line
        }
    }
}
