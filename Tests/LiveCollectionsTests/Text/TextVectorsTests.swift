import Foundation
import TestRandom
import Testing

@testable import LiveCollections

/// Test vectors for the CRDT in Swift and in JavaScript: edits, arrivals, and their results.
///
/// The browser's witness replays `Tests/witnesses/text-vectors.json` with `live-text.js`. It is written by
/// `WRITE_TEXT_VECTORS=1 swift test --filter TextVectorsTests`, and this test fails when it is out of date.
@Suite("Vectors of the shared text")
struct TextVectorsTests {
    private enum Step: Codable, Equatable {
        case replace(start: Int, end: Int, text: String, batch: TextBatch, result: String)
        case apply(batch: TextBatch, result: String)
    }

    private struct Vector: Codable, Equatable {
        var replica: ReplicaID
        var begins: TextSnapshot
        var steps: [Step]
        var ends: TextSnapshot
    }

    private static var file: URL {
        URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../witnesses/text-vectors.json").standardized
    }

    /// Three replicas edit and receive operations late, twice and in any order; the vector is what the first one
    /// receives.
    private static func vector(seed: UInt64) throws -> Vector {
        var random = SeededRandom(seed: seed)
        var first = TextDocument(replica: .random(using: &random))
        _ = try first.replace(0..<0, with: "Once 👋 upon")
        _ = try first.replace(2..<4, with: "")
        let begins = first.snapshot()
        var replicas = (0..<3).map { _ in
            TextDocument(replica: .random(using: &random), from: begins)
        }
        var inboxes: [[TextBatch]] = [[], [], []]
        var steps: [Step] = []
        for _ in 0..<60 {
            let index = Int.random(in: 0..<3, using: &random)
            if Bool.random(using: &random) {
                let scalars = Array(replicas[index].string.unicodeScalars)
                let place = Int.random(in: 0...scalars.count, using: &random)
                let count = Int.random(in: 0..<3, using: &random) == 0 ? 1 : 0
                let deleted = scalars[place...].prefix(count)
                let start = TextExtent.of(scalars[..<place]).utf16
                let end = start + TextExtent.of(deleted).utf16
                let text =
                    ["a", "é", "👋x", "\u{301}", "words ", ""].randomElement(using: &random) ?? ""
                let batch = try replicas[index].replace(start..<end, with: text)
                for other in 0..<3 where other != index { inboxes[other].append(batch) }
                guard index == 0 else { continue }
                let result = replicas[0].string
                steps.append(
                    .replace(start: start, end: end, text: text, batch: batch, result: result)
                )
            } else if !inboxes[index].isEmpty {
                let place = Int.random(in: 0..<inboxes[index].count, using: &random)
                let batch = inboxes[index][place]
                if Int.random(in: 0..<5, using: &random) > 0 { inboxes[index].remove(at: place) }
                try replicas[index].apply(batch)
                if index == 0 { steps.append(.apply(batch: batch, result: replicas[0].string)) }
            }
        }
        for batch in inboxes[0] {
            try replicas[0].apply(batch)
            steps.append(.apply(batch: batch, result: replicas[0].string))
        }
        return Vector(
            replica: replicas[0].replica,
            begins: begins,
            steps: steps,
            ends: replicas[0].snapshot()
        )
    }

    @Test("The file of test vectors is up to date")
    func vectors() throws {
        let vectors = try (1...20).map { try Self.vector(seed: $0) }
        if ProcessInfo.processInfo.environment["WRITE_TEXT_VECTORS"] != nil {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try encoder.encode(vectors).write(to: Self.file)
        }
        let kept = try JSONDecoder().decode([Vector].self, from: Data(contentsOf: Self.file))
        #expect(kept == vectors)
    }
}
