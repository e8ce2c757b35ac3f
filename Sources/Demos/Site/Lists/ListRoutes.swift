import HTTP1
import HTTPServer
package import LiveRows

extension PublishedList {
    /// Returns the two routes of a list: its snapshot at `base`, and commits at `operations` below it.
    package nonisolated func routes(
        below base: String,
        limits: ListLimits = ListLimits()
    ) -> [Route] {
        [
            .get(base) { _ in try .encoding(try await self.snapshot()) },
            .post("\(base)/operations") { request in
                let edit = try request.decode(ListEdit<Row>.self)
                try edit.check(limits)
                return try .encoding(["revision": try await self.revision(after: edit)])
            },
        ]
    }

    /// Commits a client's edit, unless it was committed before.
    private func revision(after edit: ListEdit<Row>) throws -> Int64 {
        let commit = try commit(edit.mutation, ifRevision: edit.ifRevision) { _ in edit.operations }
        if let commit {
            return commit.change.revision
        }
        guard let mutation = edit.mutation, let revision = try revision(of: mutation) else {
            throw RequestError.refused(409, "This change was made before.")
        }
        return revision
    }
}

/// A client's edit.
struct ListEdit<Row: ListRow>: Decodable, Sendable {
    let mutation: String?
    let ifRevision: Int64?
    let operations: [ListOperation<Row>]

    func check(_ limits: ListLimits) throws(RequestError) {
        if let mutation {
            try RequestError.check(mutation, "mutation", limit: limits.mutationLengthMax)
        }
        guard operations.count <= limits.operationsMax else {
            throw .refused(
                413,
                "A commit may have \(limits.operationsMax) operations, not \(operations.count)."
            )
        }
    }
}

/// A list at one revision.
package struct ListSnapshot<Row: ListRow>: Codable, Equatable, Sendable {
    /// The number of commits.
    package let revision: Int64
    /// The rows, in order.
    package let rows: [Row]
}

/// The published change of a commit: the data of the event `list_changed`.
package struct ListChange<Row: ListRow>: Codable, Equatable, Sendable {
    /// The list's revision after the operations; one more than before.
    package let revision: Int64
    /// The client's ID of the commit; `nil` for none.
    package let mutation: String?
    /// The applied operations, in order, with resolved anchors.
    package let operations: [ListOperation<Row>]

    private enum CodingKeys: String, CodingKey { case revision, mutation, operations }

    /// Encodes all three fields, including a null mutation.
    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(revision, forKey: .revision)
        try fields.encode(mutation, forKey: .mutation)
        try fields.encode(operations, forKey: .operations)
    }
}
