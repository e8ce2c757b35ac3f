import Synchronization
import Testing

@testable import LiveCollections

@MainActor
@Suite("Refused edits of a live text", .timeLimit(.minutes(1)))
struct LiveTextRefusalTests {
    @Test("A refused edit is reverted; the edits that do not depend on it are sent")
    func refusal() async throws {
        let backend = try ScriptedBackend("text")
        let text = backend.open()
        try await until { text.isLoaded }
        var refused: [RefusedEdits] = []
        text.observeRefusals { [unowned text] edits in
            // The text has already been reverted.
            #expect(text.offset(of: edits.insertions[0].position) == 0)
            refused.append(edits)
        }
        backend.refuse { batch in
            batch.operations.contains { $0.text?.contains("more") == true }
                ? TextRefusal.invalid(reason: "the text is closed") : nil
        }
        backend.holdSends()
        try text.replace(0..<0, with: "more ")
        try await until { backend.heldCount == 1 }
        try text.replace(9..<9, with: " and this")
        try text.replace(5..<6, with: "T")
        try text.replace(7..<8, with: "X")
        backend.releaseSends()
        try await until { !refused.isEmpty && text.unsent.isEmpty }
        #expect(text.string == "teXt and this")
        try await until { backend.string == text.string }
        #expect(refused.count == 1)
        #expect(refused[0].refusal == .invalid(reason: "the text is closed"))
        // The "T" was typed after the refused text, so it depends on it.
        #expect(refused[0].insertions == [RefusedEdits.Insertion("more T", at: .start)])
        #expect(refused[0].batches.count == 2)
        text.stop()
    }

    private struct NotNow: Error {}

    @Test(
        "Whatever status the backend responds with, what was typed is saved later or handed back",
        arguments: [401, 408, 429, 503, 403, 409, 413, 422]
    )
    func statuses(status: Int) async throws {
        let backend = try ScriptedBackend("text")
        let text = backend.open()
        try await until { text.isLoaded }
        var refused: [RefusedEdits] = []
        text.observeRefusals { refused.append($0) }
        let answerCount = Mutex(0)
        backend.refuse { batch in
            answerCount.withLock { $0 += 1 }
            return TextRefusal(status: status, reason: "status \(status)") ?? NotNow()
        }
        try text.replace(4..<4, with: "ed")
        try await until { answerCount.withLock { $0 } > 0 }
        let isRefusal = [403, 413, 422].contains(status)
        if isRefusal {
            try await until { refused.flatMap(\.insertions).map(\.text).joined() == "ed" }
            #expect(text.string == "text")
        } else {
            #expect(text.string == "texted" && !text.unsent.isEmpty)
        }
        backend.refuse { _ in nil }
        try text.replace(0..<0, with: "a ")
        try await until { text.unsent.isEmpty && backend.string == text.string }
        #expect(text.string == (isRefusal ? "a text" : "a texted"))
        #expect(isRefusal || refused.isEmpty)
        text.stop()
    }

    @Test("A batch that is too large is sent in parts", arguments: [1, 7, 100])
    func tooLarge(limit: Int) async throws {
        let backend = try ScriptedBackend("[]")
        let text = backend.open()
        try await until { text.isLoaded }
        backend.refuse { batch in
            let count = batch.operations.reduce(0) { $0 + ($1.text?.unicodeScalars.count ?? 1) }
            return count > limit ? TextRefusal.tooLarge(reason: "status 413") : nil
        }
        let typed = String(repeating: "0123456789", count: 30)
        try text.replace(1..<1, with: typed)
        try await until { text.unsent.isEmpty }
        #expect(backend.string == "[\(typed)]")
        #expect(text.string == backend.string)
        text.stop()
    }

    @Test("A single scalar that is too large is handed back")
    func tooLargeScalar() async throws {
        let backend = try ScriptedBackend("text")
        let text = backend.open()
        try await until { text.isLoaded }
        var refused: [RefusedEdits] = []
        text.observeRefusals { refused.append($0) }
        backend.refuse { _ in TextRefusal.tooLarge(reason: "status 413") }
        try text.replace(4..<4, with: "!")
        try await until { !refused.isEmpty }
        #expect(refused.map { $0.insertions.map(\.text) } == [["!"]])
        #expect(text.string == "text" && text.unsent.isEmpty)
        text.stop()
    }
}

extension TextOperation {
    fileprivate var text: String? {
        if case .insert(_, _, let text) = self { text } else { nil }
    }
}
