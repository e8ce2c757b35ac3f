public import FanfareClient
public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Sends a request and gives its answer: a `URLSession`, or what an app has in its place.
public typealias HTTPExchange = @Sendable (URLRequest) async throws -> (Data, HTTPURLResponse)

extension ChannelSource {
    /// A source whose backend speaks JSON over HTTP.
    ///
    /// `GET base` answers `{"revision":13,"rows":[…]}`. `POST base/operations` with
    /// `{"mutation":"…","operations":[…]}` answers `{"revision":14}`, or with a status from 400 to 499
    /// `{"error":"a sentence"}`, and then the edit is taken back.
    ///
    /// - Parameters:
    ///   - channel: The channel; it is subscribed to.
    ///   - event: The event that tells a change.
    ///   - base: Where the list's rows are.
    ///   - fields: Fields for each request, such as `Authorization`.
    ///   - exchange: Sends a request and gives its answer; the shared `URLSession` does by default.
    public init(
        channel: Channel,
        event: String = "list_changed",
        base: URL,
        fields: [String: String] = [:],
        exchange: @escaping HTTPExchange = URLSession.exchange
    ) {
        let backend = HTTPListBackend<Row>(base: base, fields: fields, exchange: exchange)
        self.init(
            channel: channel,
            event: event,
            snapshot: { try await backend.snapshot() },
            commit: { try await backend.commit($0) }
        )
    }
}

extension URLSession {
    /// Sends a request by the shared session.
    ///
    /// - Parameter request: The request.
    /// - Returns: The answer's content, and its head.
    /// - Throws: What prevented an answer.
    @Sendable
    public static func exchange(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let response = response as? HTTPURLResponse else {
            throw URLError(.badServerResponse)
        }
        return (data, response)
    }
}

/// The requests of a list to its backend.
struct HTTPListBackend<Row: LiveRow & Codable>: Sendable where Row.ID: Sendable & Codable {
    private struct Committed: Decodable { let revision: UInt64 }
    private struct Refusal: Decodable { let error: String }

    let base: URL
    let fields: [String: String]
    let exchange: HTTPExchange

    func snapshot() async throws -> ListSnapshot<Row> {
        var request = URLRequest(url: base)
        // What a cache remembers would be older than the changes that came since.
        request.cachePolicy = .reloadIgnoringLocalCacheData
        return try JSONDecoder().decode(ListSnapshot<Row>.self, from: try await send(request))
    }

    func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        var request = URLRequest(url: base.appending(path: "operations"))
        request.httpMethod = "POST"
        request.httpBody = try JSONEncoder().encode(commit)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        return try JSONDecoder().decode(Committed.self, from: try await send(request)).revision
    }

    private func send(_ request: URLRequest) async throws -> Data {
        var request = request
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        let (data, response) = try await exchange(request)
        switch response.statusCode {
        case 200..<300: return data
        case 408, 429: throw Unanswered(status: response.statusCode)
        case 400..<500:
            let refusal = try? JSONDecoder().decode(Refusal.self, from: data)
            let text = String(decoding: data.prefix(200), as: UTF8.self)
            throw refusal.map { LiveListError.refused(reason: $0.error) }
                ?? .badAnswer(status: response.statusCode, text: text)
        default: throw Unanswered(status: response.statusCode)
        }
    }
}

/// The backend cannot answer at present, and may later.
struct Unanswered: Error, CustomStringConvertible {
    let status: Int

    var description: String {
        "the list's backend answered with status \(status); it is tried again"
    }
}
