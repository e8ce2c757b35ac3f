/// The reference of all keys, `config/fanfare.example.yaml`: each with its default, below its explanation.
///
/// It is a configuration itself, the development broker's. What is commented out below a key is valid in its place.
struct ConfigurationReference {
    /// The file's text.
    static var text: String {
        var reference = ConfigurationReference()
        reference.lines = preface.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "#" : "# \($0)" }
        let keys = ConfigurationKeys.all.map { $0.reference(.development) }
        reference.add(keys, in: [], margin: "")
        return reference.lines.joined(separator: "\n") + "\n"
    }

    private static let preface = """
        The reference: every key with its default. An omitted key has its default. fanfare.yaml beside this file is a short
        configuration for production.

          fanfare check --config fanfare.yaml     prints a summary, or every error at once
          fanfare serve --config fanfare.yaml     runs the broker

        Environment variables override the file. A key's variable is its path in capitals: FANFARE_LISTEN_PORT for
        listen.port, FANFARE_APPS_0_SECRET for the first app's secret. An empty variable sets nothing. The options of
        "fanfare serve" override both.

        A running broker applies changes of apps, shutdown, tls.certificates and log.level within four seconds after the
        file is saved, or at once on SIGHUP; clients stay connected. Other changes apply at the next start, and the log says
        so. A file with an error changes nothing, and the log names the line.

        A relative path is relative to the folder that the broker is started in ("/" as a service).

        Write byte sizes as 16384 or 16 KiB. "none" means no value. A comment after a value has the values that are valid
        there. Unknown keys are errors.

        To use an example that is commented out below its key, remove "# " once from each of its lines.
        """

    /// The explanations of sections, by path; the others need none.
    private static let sections = [
        "apps.features": "Features of this app's clients.",
        "apps.recovery": """
        Messages for clients that reconnect: channels that such clients track number their events and keep the last \
        ones, so that a lost connection loses nothing.
        """,
        "recovery": """
        The parts of recovery that all apps share: connection records, the file of stored channels, and the spool.
        """,
        "cluster": """
        Several nodes that serve the same apps as one broker: each client may connect to any node, and each backend \
        may trigger on any node. They share a Redis server (7.0 or later) or Valkey (7.2 or later), which orders all \
        messages and keeps those of apps.N.recovery; recovery.database and recovery.spool are not used.
        """,
        "cluster.redis": "The server that the nodes share.",
        "console": """
        The console: a page that shows what the broker does, http://HOST:PORT/. With the development app on loopback \
        it is at / of listen.port, without a password, unless console.port is set.
        """,
        "shutdown": """
        The stop on SIGTERM or "fanfare drain": the broker accepts no connections, asks its clients to reconnect \
        elsewhere (4200), and flushes its queues.
        """,
    ]

    /// The longest line.
    private static let width = 120

    private var lines: [String] = []

    /// Adds the keys of a section, an empty line before each.
    ///
    /// - Parameters:
    ///   - keys: The keys, in their order; their paths are inside the section.
    ///   - section: The section's path.
    ///   - margin: The beginning of each line.
    private mutating func add(_ keys: [KeyReference], in section: [String], margin: String) {
        var added: Set<Substring> = []
        for (index, key) in keys.enumerated() {
            let parts = key.path.split(separator: ".", maxSplits: 1)
            guard let name = parts.first, added.insert(name).inserted else { continue }
            // The first key of a section follows its name.
            if index > 0 || section.isEmpty { lines.append("") }
            guard parts.count > 1 else {
                addKey(key, in: section, margin: margin)
                continue
            }
            let path = section + [String(name)]
            if let help = Self.sections[path.joined(separator: ".")] {
                addComment(help, margin: margin)
            }
            lines.append("\(margin)\(name):")
            let members = keys.filter { $0.path.hasPrefix("\(name).") }
                .map { key in
                    var key = key
                    key.path.removeFirst(name.count + 1)
                    return key
                }
            add(members, in: path, margin: margin + "  ")
        }
    }

    private mutating func addKey(_ key: KeyReference, in section: [String], margin: String) {
        addComment(key.help, margin: margin)
        switch key.content {
        case .value, .list: lines.append(margin + Self.line(of: key))
        case .examples(let items):
            lines.append("\(margin)\(key.path):")
            lines += items.map { "\(margin)#   - \($0)" }
        case .item(let keys, isExample: true):
            lines.append("\(margin)\(key.path):")
            for (index, key) in keys.enumerated() {
                let indent = "\(margin)#   \(index == 0 ? "" : "  ")"
                addComment(key.help, margin: indent)
                lines.append("\(indent)\(index == 0 ? "- " : "")\(Self.line(of: key))")
            }
        case .item(let keys, isExample: false):
            lines.append("\(margin)\(key.path):")
            let start = lines.count
            add(keys, in: section + [key.path], margin: margin + "    ")
            // The first key has the item's dash, its comment the dash's column.
            for index in start..<lines.count {
                let isComment = lines[index].hasPrefix("\(margin)    #")
                lines[index] =
                    "\(margin)  \(isComment ? "" : "- ")\(lines[index].dropFirst(margin.count + 4))"
                if !isComment { break }
            }
        }
    }

    /// A key with its value, and the valid values.
    private static func line(of key: KeyReference) -> String {
        let value =
            switch key.content {
            case .value(let value): value
            case .list(let items): "[\(items.map(quoted).joined(separator: ", "))]"
            case .examples, .item: "[]"
            }
        return "\(key.path): \(value)" + (key.range.map { "  # \($0)" } ?? "")
    }

    /// A text in a list of YAML; what begins with a colon needs quotes.
    private static func quoted(_ text: String) -> String {
        text.hasPrefix(":") ? "\"\(text)\"" : text
    }

    /// Adds a text as a comment, wrapped.
    private mutating func addComment(_ text: String, margin: String) {
        for (index, paragraph) in text.split(separator: "\n\n").enumerated() {
            if index > 0 { lines.append("\(margin)#") }
            var line = "\(margin)#"
            for word in paragraph.split(separator: " ") {
                if line.count + 1 + word.count > Self.width {
                    lines.append(line)
                    line = "\(margin)#"
                }
                line += " \(word)"
            }
            lines.append(line)
        }
    }
}
