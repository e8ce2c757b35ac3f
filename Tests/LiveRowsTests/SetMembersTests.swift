import Foundation
import Testing

@testable import LiveRows

@Suite("Operations that set members") struct SetMembersTests {
    private struct Task: Codable, Identifiable, Equatable {
        var id = 1
        var title = "Milk"
        var due: Date?
        var tags = ["shop"]
        var isDone = false
        var weight = 0.1

        enum CodingKeys: String, CodingKey {
            case id, title, due, tags, weight
            case isDone = "is_done"
        }
    }

    /// The operation that an editor makes of an edit.
    private func operation(from old: Task, to new: Task) -> ListOperation<Task>? {
        RowFields.names(from: old, to: new).map { .set(new, members: $0) }
    }

    @Test("Only what has changed is set, whatever the others are by now")
    func merges() {
        let old = Task(due: Date(timeIntervalSince1970: 1))
        var new = old
        (new.isDone, new.due, new.weight) = (true, nil, 1 / 3)
        #expect(RowFields.names(from: old, to: new) == ["is_done", "due", "weight"])
        var current = old
        (current.title, current.tags, current.weight) = ("Oat milk", [], 7)
        let merged = operation(from: old, to: new)?.contents(over: current)
        #expect(
            merged
                == Task(title: "Oat milk", due: nil, tags: [], isDone: true, weight: 1 / 3)
        )
    }

    @Test("On the wire a set is an update with the id and what has changed, in the encoder's form")
    func wire() throws {
        let old = Task(due: Date(timeIntervalSince1970: 1))
        var new = old
        (new.isDone, new.due, new.tags) = (true, nil, ["a", "b"])
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(
            decoding: try encoder.encode(operation(from: old, to: new)),
            as: UTF8.self
        )
        #expect(
            text
                == #"{"op":"update","row":{"due":null,"id":1,"is_done":true,"tags":["a","b"]}}"#
        )
        encoder.dateEncodingStrategy = .secondsSince1970
        let dated = try encoder.encode(operation(from: Task(), to: Task(due: old.due)))
        #expect(
            String(decoding: dated, as: UTF8.self) == #"{"op":"update","row":{"due":1,"id":1}}"#
        )
    }

    private struct Plain: Identifiable, Equatable {
        let id = 1
        var name = ""
    }

    private struct Numbered: Codable, Identifiable, Equatable {
        var number = 1
        var name = ""
        var id: Int { number }
    }

    private struct Veiled: Codable, Identifiable, Equatable {
        var id = 1
        var name = ""
        var isOpen = false
        enum CodingKeys: CodingKey { case id, name }
    }

    @Test("A row whose members do not show its contents can only be replaced")
    func wholeRows() {
        #expect(RowFields.names(from: Plain(), to: Plain(name: "a")) == nil)
        #expect(RowFields.names(from: Numbered(), to: Numbered(name: "a")) == nil)
        #expect(RowFields.names(from: Task(), to: Task(weight: .infinity)) == nil)
        // The hidden member would be lost.
        let open = Veiled(isOpen: true)
        #expect(RowFields.names(from: open, to: Veiled(name: "a", isOpen: true)) == nil)
        #expect(RowFields.names(from: Veiled(), to: Veiled(name: "a")) == ["name"])
    }

    @Test("A set changes a row, and its inverse restores it")
    func rows() throws {
        var rows = try KeyedRows([Task(), Task(id: 2)])
        let set = ListOperation.set(Task(id: 2, title: "?", isDone: true), members: ["is_done"])
        let effect = rows.apply(set)
        #expect(effect.changes == RowChanges(updates: [1]))
        #expect(rows[2] == Task(id: 2, isDone: true))
        #expect(rows.apply(set).inverse == nil)
        try rows.apply(#require(effect.inverse))
        #expect(rows[2] == Task(id: 2))
        #expect(rows.apply(.set(Task(id: 3), members: ["title"])).inverse == nil)
    }
}
