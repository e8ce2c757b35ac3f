public import FanfareClient
public import Foundation

extension ChannelSource {
    /// Creates a source whose backend has a JSON API over HTTP.
    ///
    /// `GET base` returns `{"revision":13,"rows":[…]}`. `POST base/operations` with
    /// `{"mutation":"…","operations":[…]}` returns `{"revision":14}`, or with a status from 400 to 499
    /// `{"error":"a sentence"}`, and then the edit is reverted.
    ///
    /// - Parameters:
    ///   - channel: The channel; it is subscribed to.
    ///   - event: The name of the event with a change.
    ///   - base: The URL of the list's rows.
    ///   - fields: HTTP fields of each request, such as `Authorization`.
    ///   - exchange: Sends a request and returns the response; `nil` for the built-in HTTP client.
    public init(
        channel: Channel,
        event: String = "list_changed",
        base: URL,
        fields: [String: String] = [:],
        exchange: ListExchange? = nil
    ) {
        let backend = HTTPListBackend<Row>(
            base: base,
            fields: fields,
            exchange: exchange ?? ListHTTPClient().send
        )
        self.init(
            channel: channel,
            event: event,
            snapshot: { try await backend.snapshot() },
            commit: { try await backend.commit($0) }
        )
    }
}

/// The requests of a list to its backend.
struct HTTPListBackend<Row: LiveRow & Codable>: Sendable where Row.ID: Sendable & Codable {
    private struct Committed: Decodable { let revision: UInt64 }
    private struct Refusal: Decodable { let error: String }

    let base: URL
    let fields: [String: String]
    let exchange: ListExchange

    func snapshot() async throws -> ListSnapshot<Row> {
        let request = ListRequest(method: "GET", url: base, fields: fields)
        return try JSONDecoder().decode(ListSnapshot<Row>.self, from: try await send(request))
    }

    func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        var request = ListRequest(
            method: "POST",
            url: base.appending(path: "operations"),
            fields: fields,
            content: try JSONEncoder().encode(commit)
        )
        request.fields["Content-Type"] = "application/json"
        return try JSONDecoder().decode(Committed.self, from: try await send(request)).revision
    }

    private func send(_ request: ListRequest) async throws -> Data {
        var request = request
        request.fields["Accept"] = "application/json"
        let answer = try await exchange(request)
        let data = answer.content
        switch answer.status {
        case 200..<300: return data
        case 408, 429: throw BackendUnavailable(status: answer.status)
        case 400..<500:
            let refusal = try? JSONDecoder().decode(Refusal.self, from: data)
            let text = String(decoding: data.prefix(200), as: UTF8.self)
            throw refusal.map { LiveListError.refused(reason: $0.error) }
                ?? .badAnswer(status: answer.status, text: text)
        default: throw BackendUnavailable(status: answer.status)
        }
    }
}

/// The backend is temporarily unavailable; the request is retried.
struct BackendUnavailable: Error, CustomStringConvertible {
    let status: Int

    var description: String {
        "the list's backend responded with status \(status); the request is retried"
    }
}
