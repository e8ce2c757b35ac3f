/// The schema of a configuration: the sections, lists and values beneath a name.
///
/// Built from the tables of keys; see ``ConfigurationKey``.
indirect enum ConfigurationSchema: Sendable {
    /// One value; the text describes what it must be.
    case value(String)
    /// One value or a list of them; the text describes what each must be.
    case values(String)
    /// A section with these names.
    case section([Member])
    /// A list of values or sections.
    case list(ConfigurationSchema)
    /// A section with arbitrary names, such as the fields of a request.
    case names(ConfigurationSchema)

    typealias Member = (name: String, schema: ConfigurationSchema)

    /// Creates the section of these keys; the parts of a key's path are nested sections.
    static func of<Root>(_ keys: [ConfigurationKey<Root>]) -> ConfigurationSchema {
        of(paths: keys.map { (path: $0.parts[...], schema: $0.schema) })
    }

    private static func of(
        paths: [(path: ArraySlice<String>, schema: ConfigurationSchema)]
    ) -> ConfigurationSchema {
        var members: [Member] = []
        for (path, schema) in paths {
            guard let name = path.first, !members.contains(where: { $0.name == name }) else {
                continue
            }
            if path.count == 1 {
                members.append((name, schema))
            } else {
                let inside = paths.filter { $0.path.first == name }
                    .map { (path: $0.path.dropFirst(), schema: $0.schema) }
                members.append((name, of(paths: inside)))
            }
        }
        return .section(members)
    }

    /// The kind of place that a path leads to.
    enum Place {
        /// A value.
        case value
        /// A section with these names.
        case section([String])
        /// A list of values or of sections.
        case list(ConfigurationSchema)
        /// A section that is an item of a list, with these names.
        case item([String])
        /// A place in a list without a position.
        case unnumbered(list: String, ConfigurationSchema)
        /// A place inside a value; the text describes what the value must be.
        case inside(path: [String], String)
        /// An unknown place.
        case unknown
    }

    /// Returns the kind of place that a path leads to.
    func place(of path: [String]) -> Place {
        var schema = self
        var isItem = false
        for (index, name) in path.enumerated() {
            switch schema {
            case .value(let expectation):
                return .inside(path: Array(path.prefix(index)), expectation)
            case .values(let expectation):
                guard index == path.count - 1, Self.isPosition(name) else {
                    return .inside(path: Array(path.prefix(index)), expectation)
                }
                return .value
            case .section(let members):
                guard let member = members.first(where: { $0.name == name }) else {
                    return .unknown
                }
                (schema, isItem) = (member.schema, false)
            case .list(let element):
                guard Self.isPosition(name) else {
                    let list = path.prefix(index).joined(separator: ".")
                    return .unnumbered(list: list, element)
                }
                (schema, isItem) = (element, true)
            case .names(let element):
                (schema, isItem) = (element, false)
            }
        }
        switch schema {
        case .value, .values: return .value
        case .section(let members):
            let names = members.map(\.name)
            return isItem ? .item(names) : .section(names)
        case .list(let element): return .list(element)
        case .names: return .section([])
        }
    }

    /// The paths of all values, with `N` for a position in a list and `*` for an arbitrary name.
    var patterns: [String] { paths.map { $0.joined(separator: ".") } }

    private var paths: [[String]] {
        switch self {
        case .value, .values: [[]]
        case .section(let members):
            members.flatMap { name, schema in schema.paths.map { [name] + $0 } }
        case .list(let element): element.paths.map { ["N"] + $0 }
        case .names(let element): element.paths.map { ["*"] + $0 }
        }
    }

    /// The names in a section, in their order; empty for anything else.
    var names: [String] {
        guard case .section(let members) = self else { return [] }
        return members.map(\.name)
    }

    /// Whether a name is a position in a list: digits without leading zeros.
    static func isPosition(_ name: some StringProtocol) -> Bool {
        name.utf8.count <= 6 && Int(name).map { "\($0)" == name && $0 >= 0 } == true
    }

    /// Replaces `N` in a pattern by the positions of a path: `apps.N.secret` becomes `apps.0.secret`.
    static func key(_ pattern: String, withPositionsOf path: [String]) -> String {
        var positions = path.filter(isPosition)[...]
        return pattern.split(separator: ".")
            .map { $0 == "N" ? positions.popFirst() ?? "0" : String($0) }
            .joined(separator: ".")
    }
}
