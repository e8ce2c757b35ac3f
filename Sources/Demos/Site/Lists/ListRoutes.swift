import HTTP1
import HTTPServer
import LiveRows

extension PublishedList {
    /// The routes of a list.
    ///
    /// - Parameters:
    ///   - base: The path of the snapshot; commits go to `operations` below it.
    ///   - limits: What a client may ask for at once.
    /// - Returns: Two routes.
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

    /// Commits what a client asks for, unless it has been committed before.
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

/// What a client asks for.
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
