import FanfareAPI
import Foundation
import LiveCollections
import Synchronization

/// A backend of a list in this process: it answers requests and publishes changes over a broker.
actor ListBackend {
    private let api: BrokerAPI
    private var writer: ListWriter<Player>
    /// The answers to the next commits, which are not applied.
    private var refusals: [Int] = []
    private(set) var requests: [ListRequest] = []

    init(api: BrokerAPI, rows: [Player]) throws {
        self.api = api
        writer = try ListWriter(rows)
    }

    var snapshot: ListSnapshot<Player> { writer.snapshot }

    func refuseNext(status: Int) { refusals.append(status) }

    /// Applies an edit; an unpublished one is missed by the clients.
    @discardableResult
    func commit(_ commit: ListCommit<Player>, isTold: Bool = true) async throws -> UInt64 {
        let (revision, change) = try writer.commit(commit)
        if let change, isTold {
            _ = try await api.trigger("list_changed", on: "players", data: change)
        }
        return revision
    }

    /// Answers as a backend with a JSON API over HTTP.
    func exchange(_ request: ListRequest) async throws -> ListAnswer {
        requests.append(request)
        if request.method != "POST" {
            return ListAnswer(status: 200, content: try JSONEncoder().encode(writer.snapshot))
        }
        if let status = refusals.popLast() {
            return ListAnswer(status: status, content: Data(#"{"error":"not today"}"#.utf8))
        }
        let commit = try JSONDecoder().decode(ListCommit<Player>.self, from: request.content)
        let revision = try await self.commit(commit)
        return ListAnswer(status: 200, content: Data(#"{"revision":\#(revision)}"#.utf8))
    }
}
