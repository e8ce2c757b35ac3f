import FanfareClient
import Foundation
import LiveCollections

/// The screen of the table: numbered rows, the state of the connection, and the last error or notice.
///
/// In a terminal the screen is redrawn after each change; in a pipe each change is one line.
@MainActor final class TableScreen {
    private let title: String
    private let hint: String
    private var rows: [String] = []
    private var status = "connecting …"
    private var problem: String?
    private var notice: String?
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    /// Creates an empty screen with a title and a line of available commands.
    init(title: String, hint: String) {
        self.title = title
        self.hint = hint
    }

    /// Shows the rows of a live list.
    func show(_ rows: [String], _ state: ListState) {
        self.rows = rows
        problem = state.error.map { "\($0)" }
        guard !state.isLoading else { return }
        draw("rows", rows.joined(separator: ", "))
    }

    /// Shows the state of the connection.
    func show(_ connection: ConnectionStatus) {
        status =
            switch connection {
            case .connected: "live"
            case .connecting: "connecting …"
            case .waiting(_, let reason): "waiting to reconnect: \(reason)"
            case .failed(let reason): "\(reason)"
            case .disconnected, .suspended: "disconnected"
            }
        draw("status", status)
    }

    /// Shows what has happened while the client was disconnected, until the next connection.
    func show(_ continuity: Continuity) {
        notice = continuity.notice
        if let notice { draw("notice", notice) }
    }

    /// Shows an error until the next change.
    func report(_ problem: any Error) {
        self.problem = "\(problem)"
        draw("problem", "\(problem)")
    }

    private func draw(_ occasion: String, _ detail: String) {
        guard isTerminal else { return write("\(occasion): \(detail)\n") }
        var text = "\u{1B}[2J\u{1B}[H\u{1B}[1m\(title)\u{1B}[0m  \u{1B}[2m\(status)\u{1B}[0m\n\n"
        for (index, row) in rows.enumerated() { text += "  \(index + 1)  \(row)\n" }
        if let notice { text += "\n\(notice)\n" }
        if let problem { text += "\n\u{1B}[31m\(problem)\u{1B}[0m\n" }
        text += "\n\u{1B}[2m\(hint)\u{1B}[0m\n> "
        write(text)
    }

    private func write(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}
