import FanfareClient
import Foundation
import LiveCollections

/// The screen of the text: numbered lines, the state of the connection, and the last error or notice.
///
/// In a terminal the screen is redrawn after each change; in a pipe each change is one line.
@MainActor final class TextScreen {
    private let text: LiveText
    private var problem: String?
    private var notice: String?
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    init(_ text: LiveText) {
        self.text = text
        text.observe { [weak self] _ in self?.draw() }
        text.observeStatus { [weak self] _ in self?.draw() }
        text.observeRefusals { [weak self] edits in
            let lost = edits.insertions.map { "“\($0.text)”" }.joined(separator: ", ")
            self?.problem = "not accepted: \(lost) (\(edits.refusal.reason))"
            self?.draw()
        }
    }

    /// Shows what has happened while the client was disconnected, until the next connection.
    func show(_ continuity: Continuity) {
        notice = continuity.notice
        guard let notice else { return }
        if isTerminal { draw() } else { write("notice: \(notice)\n") }
    }

    func report(_ problem: any Error) {
        self.problem = "\(problem)"
        draw()
    }

    func draw() {
        let status =
            switch text.status {
            case .loading: "loading …"
            case .live: text.unsent.isEmpty ? "live" : "live, sending …"
            case .offline(let reason): "offline: \(reason)"
            }
        guard isTerminal else {
            return write("\(status): \(text.string.replacing("\n", with: "⏎"))\n")
        }
        var screen =
            "\u{1B}[2J\u{1B}[H\u{1B}[1mText editor\u{1B}[0m  \u{1B}[2m\(status)\u{1B}[0m\n\n"
        let lines = text.string.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            screen += "\u{1B}[2m\(index + 1)\u{1B}[0m\t\(Self.printable(line))\n"
        }
        if let notice { screen += "\n\(notice)\n" }
        if let problem { screen += "\n\u{1B}[31m\(problem)\u{1B}[0m\n" }
        screen +=
            "\n\u{1B}[2mappend TEXT · insert N TEXT · change N TEXT · delete N · quit\u{1B}[0m\n> "
        write(screen)
        problem = nil
    }

    /// Replaces control characters, because a text could control the terminal with them.
    private static func printable(_ line: Substring) -> String {
        String(
            String.UnicodeScalarView(
                line.unicodeScalars.map { $0.properties.generalCategory == .control ? "·" : $0 }
            )
        )
    }

    private func write(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}
