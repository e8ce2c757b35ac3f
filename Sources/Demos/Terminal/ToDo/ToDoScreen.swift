import Foundation
import LiveCollections
import LiveRows

/// The screen of the to-dos: the result of the local query and the state of the sync.
///
/// In a terminal the screen is redrawn after each update; in a pipe each update is one line.
@MainActor final class ToDoScreen {
    private(set) var rows: [LocalToDo] = []
    private var status = "syncing …"
    private var problem: String?
    private var hasBegun = false
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    /// Shows an update of the query's list.
    func show(_ update: ListUpdate<LocalToDo>) {
        rows = Array(update.rows)
        if let error = update.state.error { return report("\(error)") }
        guard update.state.isLive else { return }
        let changes = update.changes
        if !hasBegun {
            draw("initial: \(titles)")
        } else if !changes.isEmpty {
            draw(
                """
                update: \(changes.deletes.count) deleted, \(changes.inserts.count) inserted, \
                \(changes.updates.count) modified: \(titles)
                """
            )
        }
        hasBegun = true
    }

    func show(_ outcome: ToDoSync.Outcome) {
        let before = status
        switch outcome {
        case .synced: status = "synced"
        case .offline(let reason, let count):
            status = "offline: \(count) edit\(count == 1 ? "" : "s") to send. \(reason)"
        }
        if status != before { draw("status: \(status)") }
    }

    func report(_ problem: String) {
        self.problem = problem
        draw("problem: \(problem)")
    }

    /// Removes the last error.
    func clearProblem() { problem = nil }

    private var titles: String { rows.map(\.title).joined(separator: ", ") }

    private func draw(_ line: String) {
        guard isTerminal else { return write("\(line)\n") }
        var text = "\u{1B}[2J\u{1B}[H\u{1B}[1mTo-do\u{1B}[0m  \u{1B}[2m\(status)\u{1B}[0m\n\n"
        for (index, row) in rows.enumerated() {
            let due = row.due.map { "  \u{1B}[2m\($0)\u{1B}[0m" } ?? ""
            text += "  \(index + 1)  \(row.title)\(due)\n"
        }
        if rows.isEmpty { text += "  All done.\n" }
        if let problem { text += "\n\u{1B}[31m\(problem)\u{1B}[0m\n" }
        text += "\n\u{1B}[2m\(ToDoCommand.help)\u{1B}[0m\n> "
        write(text)
    }

    private func write(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}
