/// Modules of JavaScript that become one file, so that a page loads it with one request.
///
/// The parts are modules that import each other by name, one import on a line; their names are unique over all parts.
/// Comments on lines of their own are left out, except for the first one of the main part, and so is the space that means
/// nothing: together almost half of what a page loads. No text or regular expression of a part is longer than a line, and
/// none has a quote of another kind.
struct ScriptParts {
    /// The part whose first comment describes the file.
    let main: [UInt8]
    /// The parts that it imports, a class before those that extend it.
    let others: [[UInt8]]

    /// The parts as a module with the exports of the main part.
    var module: [UInt8] {
        let parts = others.flatMap { statements(of: $0).map(withoutExport) }
        return text(heading + parts + statements(of: main))
    }

    /// The parts as a script whose names are not visible to the page.
    var script: [UInt8] {
        var lines = heading + ["(() => {", "\"use strict\";"]
        for part in others + [main] { lines += statements(of: part).map(withoutExport) }
        return text(lines + ["})();"])
    }

    private var heading: [Substring] {
        self.lines(of: main).prefix { $0.hasPrefix("//") } + [""]
    }

    /// The lines of a part without imports of other parts, comments and what indents them.
    private func statements(of part: [UInt8]) -> [Substring] {
        lines(of: part).map { $0.drop { $0 == " " } }.filter { text in
            !["//", "/*", "* ", "*/"].contains { text.hasPrefix($0) }
                && !(text.hasPrefix("import ") && text.contains("\"./"))
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
        let text = lines.map { line in
            guard !line.contains("//") else { return "\(line)\n" }
            let code = withoutSpace(line)
            return code.last.map { "{}(,;".contains($0) } ?? false ? code : "\(code)\n"
        }
        return Array((withShortNames(text.joined(), of: lines) + "\n").utf8)
    }

    /// Renames the private members of classes, which no other file can see.
    private func withShortNames(_ text: String, of lines: [Substring]) -> String {
        var names: [Substring: String] = [:]
        for line in lines {
            guard let name = line.prefixMatch(of: #/(?:static |async |get |set )*(#\w+)/#)?.1,
                names[name] == nil
            else { continue }
            names[name] = "#_" + String(names.count, radix: 36)
        }
        return text.replacing(#/#\w+/#) { names[$0.output] ?? String($0.output) }
    }

    /// A line without the spaces beside operators and brackets, except in texts.
    ///
    /// Those beside `+`, `-` and `/` stay, which may be parts of others.
    private func withoutSpace(_ line: Substring) -> String {
        let operators = "=<>!&|?:,;{}()[]"
        var (code, quote) = ("", Character?.none)
        var rest = line
        while let character = rest.popFirst() {
            if let open = quote {
                if character == "\\", let escaped = rest.popFirst() {
                    code += [character, escaped]
                    continue
                }
                if character == open { quote = nil }
            } else if character == "\"" || character == "`" {
                quote = character
            } else if character == " " {
                let isBeside = [code.last, rest.first].contains {
                    $0.map(operators.contains) ?? true
                }
                if isBeside { continue }
            }
            code.append(character)
        }
        return code
    }
}
