/// The shape of a configuration: what stands beneath a name, down to the single values.
///
/// The tables of keys make it up; see ``ConfigurationKey``.
indirect enum ConfigurationShape: Sendable {
    /// One value; the text says what it must be.
    case value(String)
    /// A section with these names.
    case section([Member])
    /// A list of values or sections.
    case list(ConfigurationShape)
    /// A section with names of the writer's choice, as the fields of a request.
    case names(ConfigurationShape)

    typealias Member = (name: String, shape: ConfigurationShape)

    /// The shape of a whole configuration.
    static let root = of(ConfigurationKey<Configuration>.all)

    /// The section that keys make up; the parts of a key's path are sections within it.
    static func of<Root>(_ keys: [ConfigurationKey<Root>]) -> ConfigurationShape {
        of(paths: keys.map { (path: $0.parts[...], shape: $0.shape) })
    }

    private static func of(
        paths: [(path: ArraySlice<String>, shape: ConfigurationShape)]
    ) -> ConfigurationShape {
        var members: [Member] = []
        for (path, shape) in paths {
            guard let name = path.first, !members.contains(where: { $0.name == name }) else {
                continue
            }
            if path.count == 1 {
                members.append((name, shape))
            } else {
                let inside = paths.filter { $0.path.first == name }
                    .map { (path: $0.path.dropFirst(), shape: $0.shape) }
                members.append((name, of(paths: inside)))
            }
        }
        return .section(members)
    }

    /// What a path leads to.
    enum Place {
        /// A value.
        case value
        /// A section with these names.
        case section([String])
        /// A list of values or of sections.
        case list(ConfigurationShape)
        /// An item of a list, with these names.
        case item([String])
        /// Something inside a list that has no position.
        case unnumbered(list: String, ConfigurationShape)
        /// Something inside a value, of which the text says what it must be.
        case inside(path: [String], String)
        /// Nothing that is known.
        case unknown
    }

    /// Says what a path leads to.
    func place(of path: [String]) -> Place {
        var shape = self
        var isItem = false
        for (index, name) in path.enumerated() {
            switch shape {
            case .value(let expectation):
                return .inside(path: Array(path.prefix(index)), expectation)
            case .section(let members):
                guard let member = members.first(where: { $0.name == name }) else {
                    return .unknown
                }
                (shape, isItem) = (member.shape, false)
            case .list(let element):
                guard Self.isPosition(name) else {
                    let list = path.prefix(index).joined(separator: ".")
                    return .unnumbered(list: list, element)
                }
                (shape, isItem) = (element, true)
            case .names(let element):
                (shape, isItem) = (element, false)
            }
        }
        switch shape {
        case .value: return .value
        case .section(let members):
            let names = members.map(\.name)
            return isItem ? .item(names) : .section(names)
        case .list(let element): return .list(element)
        case .names: return .section([])
        }
    }

    /// Every value's path, with `N` for a position in a list and `*` for a name of the writer's choice.
    var patterns: [String] { paths.map { $0.joined(separator: ".") } }

    private var paths: [[String]] {
        switch self {
        case .value: [[]]
        case .section(let members):
            members.flatMap { name, shape in shape.paths.map { [name] + $0 } }
        case .list(let element): element.paths.map { ["N"] + $0 }
        case .names(let element): element.paths.map { ["*"] + $0 }
        }
    }

    /// Every key as somebody would write it, with `N` for a position in a list of sections.
    static let keys: [String] = root.patterns.map { pattern in
        let isOpen = pattern.hasSuffix(".N") || pattern.hasSuffix(".*")
        return isOpen ? String(pattern.dropLast(2)) : pattern
    }

    /// The names in a section, in order; none in anything else.
    var names: [String] {
        guard case .section(let members) = self else { return [] }
        return members.map(\.name)
    }

    /// Whether a name is a position in a list: digits, without a needless zero.
    static func isPosition(_ name: some StringProtocol) -> Bool {
        name.utf8.count <= 6 && Int(name).map { "\($0)" == name && $0 >= 0 } == true
    }

    /// A pattern with the positions that a path has: `apps.N.secret` becomes `apps.0.secret`.
    static func key(_ pattern: String, withPositionsOf path: [String]) -> String {
        var positions = path.filter(isPosition)[...]
        return pattern.split(separator: ".")
            .map { $0 == "N" ? positions.popFirst() ?? "0" : String($0) }
            .joined(separator: ".")
    }
}
