import FanfareClient
import Foundation

/// What the terminal shows: the rows, the state of the connection, and the last thing that went wrong.
///
/// On a terminal the list is drawn anew after each change; into a pipe it goes as one line a change.
@MainActor final class TableScreen {
    private(set) var table = UserTable()
    private var status = "connecting …"
    private var problem: String?
    /// What happened while the list is being loaded, whose answer may be older; `nil` once it is there.
    private var changesWhileLoading: [UserTable.Change]? = []
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    func beginLoading() { changesWhileLoading = [] }

    func replace(with rows: [UserTable.Row]) {
        table.replace(with: rows)
        for change in changesWhileLoading ?? [] { table.apply(change) }
        changesWhileLoading = nil
        problem = nil
        draw("loaded")
    }

    func apply(_ change: UserTable.Change) {
        table.apply(change)
        if changesWhileLoading == nil {
            draw("changed")
        } else {
            changesWhileLoading?.append(change)
        }
    }

    func show(_ connection: ConnectionStatus) {
        status =
            switch connection {
            case .connected: "live"
            case .connecting: "connecting …"
            case .waiting(_, let reason): "waiting to reconnect: \(reason)"
            case .failed(let reason): "\(reason)"
            case .disconnected: "disconnected"
            }
        draw("status")
    }

    func report(_ problem: any Error) {
        self.problem = "\(problem)"
        draw("problem")
    }

    private func draw(_ occasion: String) {
        let names = table.rows.map(\.name)
        guard isTerminal else {
            let detail = occasion == "status" ? status : problem ?? names.joined(separator: ", ")
            return write("\(occasion): \(detail)\n")
        }
        var text =
            "\u{1B}[2J\u{1B}[H\u{1B}[1mRealtime table\u{1B}[0m  \u{1B}[2m\(status)\u{1B}[0m\n\n"
        for (index, name) in names.enumerated() { text += "  \(index + 1)  \(name)\n" }
        if let problem { text += "\n\u{1B}[31m\(problem)\u{1B}[0m\n" }
        text += "\n\u{1B}[2madd NAME · remove N · move N M · quit\u{1B}[0m\n> "
        write(text)
    }

    private func write(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}
