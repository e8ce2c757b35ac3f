import Foundation
import LiveRows
import Testing

@testable import LiveCollections

/// The vectors that the live lists of all clients pass; `Tests/vectors/run.mjs` runs them with `LiveList` in JavaScript.
///
/// Their format is described in `docs/internals/clients.md`.
@Suite("Vectors of live lists") struct ListVectorTests {
    @Test("Each step shows the rows and sends the edits that the vector names")
    func vectors() throws {
        let url = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../vectors/lists.json")
        let vectors = try JSONDecoder().decode([ListVector].self, from: Data(contentsOf: url))
        #expect(!vectors.isEmpty)
        for vector in vectors {
            var player = ListPlayer()
            for (index, step) in vector.steps.enumerated() {
                let seen = try player.play(step)
                guard let fault = step.difference(from: seen) else { continue }
                Issue.record("\(vector.name), step \(index + 1): \(fault)")
                break
            }
        }
    }
}

private struct VectorRow: Identifiable, Equatable, Codable, Sendable {
    var id: Int
    var a: String
    var b: String
}

/// An operation as it is written in JSON; the row of an update has only some members.
private struct WrittenOperation: Codable, Equatable {
    struct Row: Codable, Equatable {
        var id: Int
        var a: String?
        var b: String?
    }

    var op: String
    var row: Row?
    var id: Int?
    var after: Int?
}

private struct WrittenCommit: Codable, Equatable {
    var mutation: Int
    var operations: [WrittenOperation]
}

private struct ListVector: Decodable {
    struct Change: Decodable {
        var revision: UInt64
        var mutation: Int?
        var operations: [ListOperation<VectorRow>]
    }

    /// A snapshot; `nil` for a request that failed.
    struct Answer: Decodable {
        struct Content: Decodable {
            var revision: UInt64
            var rows: [VectorRow]
        }

        var content: Content?

        init(from decoder: any Decoder) throws { content = try? Content(from: decoder) }
    }

    struct Step: Decodable {
        var subscribed: Bool?
        var resumed: Bool?
        var fetched: Answer?
        var change: Change?
        var edit: [WrittenOperation]?
        var accepted: UInt64?
        var refused: Bool?
        var unanswered: Bool?
        var wait: Int?

        var commits: [WrittenCommit]?
        var shows: [String]?
        var loading: Bool?
        var pending: Int?

        func difference(from seen: ListPlayer.Seen) -> String? {
            let commits = commits ?? []
            if commits != seen.commits { return "sends \(seen.commits), not \(commits)" }
            if let shows, shows != seen.shows { return "shows \(seen.shows), not \(shows)" }
            if let loading, loading != seen.isLoading { return "loading is \(seen.isLoading)" }
            if let pending, pending != seen.pending { return "\(seen.pending) edits are pending" }
            return nil
        }
    }

    var name: String
    var steps: [Step]
}

/// Plays vectors with a replica.
private struct ListPlayer {
    struct Seen {
        var commits: [WrittenCommit]
        var shows: [String]
        var isLoading: Bool
        var pending: Int
    }

    private struct Fault: Error {}

    private var replica = ListReplica<VectorRow>(options: ListOptions())
    private var fetch: Int?
    private var sending: (commit: ListCommit<VectorRow>, number: Int)?
    /// An edit that is sent again after a delay.
    private var delayed: ListCommit<VectorRow>?
    /// The IDs of the edits, in the order in which they were sent first.
    private var mutations: [String] = []
    private var editCount = 0
    private var commits: [WrittenCommit] = []

    init() { replica.began() }

    mutating func play(_ step: ListVector.Step) throws -> Seen {
        commits = []
        if step.subscribed != nil { try perform(replica.subscribed()) }
        if step.resumed != nil { try perform(replica.resumed()) }
        if let answer = step.fetched, let number = fetch.take() {
            if let content = answer.content {
                let snapshot = ListSnapshot(revision: content.revision, rows: content.rows)
                try perform(replica.fetched(number, snapshot))
            } else {
                try perform(replica.fetchFailed(number, Fault()))
            }
        }
        if let change = step.change {
            let mutation = change.mutation.map { mutations[$0 - 1] }
            try perform(
                replica.changed(
                    ListChange(
                        revision: change.revision,
                        mutation: mutation,
                        operations: change.operations
                    )
                )
            )
        }
        if let operations = step.edit { try edit(operations) }
        if let (commit, number) = sending {
            if let revision = step.accepted {
                sending = nil
                try perform(replica.accepted(commit.mutation, revision: revision))
            } else if step.refused != nil {
                sending = nil
                try perform(replica.refused(commit.mutation, Fault()))
            } else if step.unanswered != nil {
                try perform(replica.unanswered(number, Fault()))
            }
        }
        if step.wait != nil, let commit = delayed.take() { try record(commit) }
        return Seen(
            commits: commits,
            shows: replica.rows.map { "\($0.id)\($0.a)\($0.b)" },
            isLoading: fetch != nil,
            pending: replica.pendingCount
        )
    }

    private mutating func edit(_ operations: [WrittenOperation]) throws {
        var editor = replica.editor()
        for operation in operations {
            switch (operation.op, operation.row, operation.id) {
            case ("put", let row?, _):
                let row = VectorRow(id: row.id, a: row.a ?? "", b: row.b ?? "")
                editor.put(row, after: operation.after)
            case ("update", let part?, _):
                editor.update(part.id) {
                    $0.a = part.a ?? $0.a
                    $0.b = part.b ?? $0.b
                }
            case ("move", _, let id?): editor.move(id, after: operation.after)
            case ("remove", _, let id?): editor.remove(id)
            default: throw Fault()
            }
        }
        editCount += 1
        try perform(replica.commit(editor, mutation: "m\(editCount)"))
    }

    private mutating func perform(_ effects: [ListReplica<VectorRow>.Effect]) throws {
        for effect in effects {
            switch effect {
            case .fetch(let number, _): fetch = number
            case .send(let commit, let number, let failures):
                sending = (commit, number)
                if failures > 0 { delayed = commit } else { try record(commit) }
            default: break
            }
        }
    }

    private mutating func record(_ commit: ListCommit<VectorRow>) throws {
        if !mutations.contains(commit.mutation) { mutations.append(commit.mutation) }
        let written = try JSONDecoder().decode(
            [WrittenOperation].self,
            from: JSONEncoder().encode(commit.operations)
        )
        let number = (mutations.firstIndex(of: commit.mutation) ?? 0) + 1
        commits.append(WrittenCommit(mutation: number, operations: written))
    }
}
