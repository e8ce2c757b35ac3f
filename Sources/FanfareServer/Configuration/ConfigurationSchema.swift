internal import Net

/// The shape of the configuration: which paths are keys, sections, lists and items.
enum ConfigurationSchema {
    /// The lists, and the keys of their items.
    static let lists: [(name: String, itemKeys: [String])] = [
        ("tls.certificates", ConfigurationKey<CertificateFiles>.all.map(\.path)),
        ("apps", ConfigurationKey<AppConfiguration>.all.map(\.path)),
    ]

    /// Every key, with `N` for the position in a list: `listen.port`, `apps.N.secret`.
    static let patterns: [String] =
        ConfigurationKey<Configuration>.all.map(\.path)
        + lists.flatMap { list in list.itemKeys.map { "\(list.name).N.\($0)" } }

    /// What a path is.
    enum Place: Equatable {
        /// A key, whose pattern is given.
        case key(String)
        /// A section, with the names in it.
        case section([String])
        /// A list, with the keys of its items.
        case list([String])
        /// An item of a list, with its keys.
        case item([String])
        /// Something inside a list that has no position.
        case unnumbered(list: String)
        /// Something inside the value of a key.
        case inside(key: String)
        /// Nothing that is known.
        case unknown
    }

    /// Says what a path is.
    static func place(of path: [String]) -> Place {
        for list in lists {
            let name = list.name.split(separator: ".").map(String.init)
            guard path.starts(with: name) else { continue }
            let rest = path.dropFirst(name.count)
            guard let position = rest.first else { return .list(list.itemKeys) }
            guard isPosition(position) else { return .unnumbered(list: list.name) }
            guard let key = rest.dropFirst().first else { return .item(list.itemKeys) }
            guard list.itemKeys.contains(key) else { return .unknown }
            if rest.count > 2 {
                return .inside(key: path.prefix(name.count + 2).joined(separator: "."))
            }
            return .key("\(list.name).N.\(key)")
        }
        let key = path.joined(separator: ".")
        if patterns.contains(key) { return .key(key) }
        if let outer = patterns.first(where: { key.hasPrefix($0 + ".") }) {
            return .inside(key: outer)
        }
        let names = names(in: key)
        return names.isEmpty ? .unknown : .section(names)
    }

    /// The names directly inside a section, in order; none when it is not one.
    static func names(in section: String) -> [String] {
        let prefix = section.isEmpty ? "" : section + "."
        var names: [String] = []
        for pattern in patterns where pattern.hasPrefix(prefix) {
            let name = String(pattern.dropFirst(prefix.count).prefix { $0 != "." })
            if name != "N", !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// Whether a name is a position in a list: digits, without a needless zero.
    static func isPosition(_ name: some StringProtocol) -> Bool {
        name.utf8.count <= 6 && Int(name).map { "\($0)" == name && $0 >= 0 } == true
    }

    /// The pattern of a path, known or not: positions become `N`.
    static func pattern(of path: [String]) -> String {
        path.map { isPosition($0) ? "N" : $0 }.joined(separator: ".")
    }

    /// A pattern with the positions that a path has: `apps.N.secret` becomes `apps.0.secret`.
    static func key(_ pattern: String, withPositionsOf path: [String]) -> String {
        var positions = path.filter(isPosition)[...]
        return pattern.split(separator: ".")
            .map { $0 == "N" ? positions.popFirst() ?? "0" : String($0) }
            .joined(separator: ".")
    }
}
