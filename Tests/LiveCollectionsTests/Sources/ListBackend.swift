import FanfareAPI
import Foundation
import LiveCollections
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A backend of a list in this process: it answers requests, and tells changes over a broker.
actor ListBackend {
    private let api: FanfareAPI
    private var writer: ListAuthority<Player>
    /// What the next commits are answered with instead of being done.
    private var refusals: [Int] = []
    private(set) var requests: [URLRequest] = []

    init(api: FanfareAPI, rows: [Player]) throws {
        self.api = api
        writer = try ListAuthority(rows)
    }

    var snapshot: ListSnapshot<Player> { writer.snapshot }

    func refuseNext(status: Int) { refusals.append(status) }

    /// Does an edit; what is not told is what a client misses.
    @discardableResult
    func commit(_ commit: ListCommit<Player>, isTold: Bool = true) async throws -> UInt64 {
        let (revision, change) = try writer.commit(commit)
        if let change, isTold {
            _ = try await api.trigger("list_changed", on: "players", data: change)
        }
        return revision
    }

    /// Answers as a backend does that speaks JSON over HTTP.
    func exchange(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        requests.append(request)
        if request.httpMethod != "POST" {
            return answer(200, try JSONEncoder().encode(writer.snapshot), request)
        }
        if let status = refusals.popLast() {
            return answer(status, Data(#"{"error":"not today"}"#.utf8), request)
        }
        let commit = try JSONDecoder()
            .decode(ListCommit<Player>.self, from: request.httpBody ?? Data())
        let revision = try await self.commit(commit)
        return answer(200, Data(#"{"revision":\#(revision)}"#.utf8), request)
    }

    private func answer(
        _ status: Int,
        _ content: Data,
        _ request: URLRequest
    ) -> (Data, HTTPURLResponse) {
        guard let url = request.url,
            let head = HTTPURLResponse(
                url: url,
                statusCode: status,
                httpVersion: nil,
                headerFields: nil
            )
        else { fatalError("a request without an address") }
        return (content, head)
    }
}
