public import FanfareClient
public import Foundation

extension ChannelSource {
    /// Creates a source whose backend has a JSON API over HTTP.
    ///
    /// `GET base` returns `{"revision":13,"rows":[…]}`; rows that cannot be decoded are left out and reported.
    ///
    /// `POST base/operations` with `{"mutation":"…","operations":[…]}` returns `{"revision":14}`. The row of an `update`
    /// may have only `id` and the members to set; `null` removes one, and those that are absent stay. To refuse the edit,
    /// the backend returns `{"error":"a sentence"}` with a status from 400 to 499; the list then reverts the edit; 413
    /// needs no such content. 401, 407, 408, 421, 425 and 429 do not concern the edit: these, and any other answer, are
    /// failures, and the request is sent again.
    ///
    /// After a 401 the source requests new fields and sends the request a second time at once.
    ///
    /// - Parameters:
    ///   - channel: The channel; the source subscribes to it.
    ///   - event: The name of the event with a change.
    ///   - base: The URL of the list's rows.
    ///   - fields: Returns the HTTP fields of a request, such as `Authorization`; called before each request.
    ///     `isRejected` is true if the backend has just answered 401 to the last fields: get a new token, not a stored
    ///     one. An error counts as a request without an answer.
    ///   - exchange: Sends a request and returns the response; `nil` for the built-in HTTP client.
    public init(
        channel: Channel,
        event: String = "list_changed",
        base: URL,
        fields: @escaping ListFields = { _ in [:] },
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

/// Returns the HTTP fields of a list's request.
///
/// The parameter is true if the backend has just rejected the last fields with status 401.
public typealias ListFields = @Sendable (_ isRejected: Bool) async throws -> [String: String]

/// The requests of a list to its backend.
struct HTTPListBackend<Row: LiveRow & Codable>: Sendable where Row.ID: Sendable & Codable {
    private struct Committed: Decodable { let revision: UInt64 }
    private struct Refusal: Decodable { let error: String }

    let base: URL
    let fields: ListFields
    let exchange: ListExchange

    func snapshot() async throws -> ListSnapshot<Row> {
        let answer = try await send(ListRequest(method: "GET", url: base))
        return try decode(ListSnapshot<Row>.self, #"{"revision":13,"rows":[…]}"#, answer)
    }

    func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        var request = ListRequest(
            method: "POST",
            url: base.appending(path: "operations"),
            content: try JSONEncoder().encode(commit)
        )
        request.fields["Content-Type"] = "application/json"
        let answer = try await send(request)
        return try decode(Committed.self, #"{"revision":14}"#, answer).revision
    }

    private func decode<Value: Decodable>(
        _ type: Value.Type,
        _ expected: String,
        _ answer: ListAnswer
    ) throws -> Value {
        do {
            return try JSONDecoder().decode(type, repairing: answer.content)
        } catch {
            let reason = "it is not \(expected): \(reason(of: error))"
            throw BackendFailure(status: answer.status, reason: reason)
        }
    }

    private func send(_ request: ListRequest) async throws -> ListAnswer {
        var answer = try await send(request, isRejected: false)
        if answer.status == 401 { answer = try await send(request, isRejected: true) }
        switch answer.status {
        case 200..<300: return answer
        case let status where BackendFailure.isRefusal(status):
            let refusal = try? JSONDecoder().decode(Refusal.self, repairing: answer.content)
            // Proxies refuse what is too long with a page of their own; other pages of theirs concern no edit.
            guard let reason = refusal?.error ?? (status == 413 ? "it is too long" : nil) else {
                throw BackendFailure(status: status)
            }
            throw LiveListError.refused(reason: reason)
        default: throw BackendFailure(status: answer.status)
        }
    }

    private func send(_ request: ListRequest, isRejected: Bool) async throws -> ListAnswer {
        var request = request
        request.fields["Accept"] = "application/json"
        for (name, value) in try await fields(isRejected) { request.fields[name] = value }
        return try await exchange(request)
    }
}

/// An answer that is neither a success nor a refusal; the request is sent again.
package struct BackendFailure: Error, CustomStringConvertible {
    let status: Int
    var reason: String?

    /// Whether a status refuses what was sent: those from 400 to 499, except 401 (first renew the credentials), 407,
    /// 408, 421, 425 and 429, which do not concern it.
    package static func isRefusal(_ status: Int) -> Bool {
        (400..<500).contains(status) && ![401, 407, 408, 421, 425, 429].contains(status)
    }

    package var description: String {
        let remedy = status == 401 ? " (sign in again)" : ""
        let what = "the list's backend responded with status \(status)\(remedy)"
        return reason.map { "\(what), but \($0)" } ?? "\(what); the request is sent again"
    }
}
