/// Modules of JavaScript that become one file, so that a page loads it with one request.
///
/// The parts are modules that import each other by name, one import on a line; their names are unique over all parts.
/// Comments on lines of their own are left out, except for the first one of the main part.
struct ScriptParts {
    /// The part whose first comment describes the file.
    let main: [UInt8]
    /// The parts that it imports, in any order.
    let others: [[UInt8]]

    /// The parts as a module with the exports of the main part.
    var module: [UInt8] {
        var lines = heading
        lines += statements(of: main)
        for part in others { lines += statements(of: part).map(withoutExport) }
        return text(lines)
    }

    /// The parts as a script whose names are not visible to the page.
    var script: [UInt8] {
        var lines = heading + ["(() => {", "\"use strict\";"]
        for part in [main] + others { lines += statements(of: part).map(withoutExport) }
        return text(lines + ["})();"])
    }

    private var heading: [Substring] {
        self.lines(of: main).prefix { $0.hasPrefix("//") } + [""]
    }

    /// The lines of a part without imports and comments.
    private func statements(of part: [UInt8]) -> [Substring] {
        lines(of: part).filter { line in
            let text = line.drop { $0 == " " }
            return !["//", "/*", "* ", "*/", "import "].contains { text.hasPrefix($0) }
                && !text.isEmpty && text != "*"
        }
    }

    private func lines(of part: [UInt8]) -> [Substring] {
        String(decoding: part, as: UTF8.self).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
    }

    private func withoutExport(_ line: Substring) -> Substring {
        line.hasPrefix("export ") ? line.dropFirst("export ".count) : line
    }

    private func text(_ lines: [Substring]) -> [UInt8] {
        Array((lines.joined(separator: "\n") + "\n").utf8)
    }
}
