/// Reads a YAML document into settings, each with its line.
enum YAMLSettings {
    /// The maximum number of values of a document, each alias counted with all values that it stands for: a few lines
    /// can stand for billions.
    static let valuesMax = 100_000

    /// Reads a document.
    ///
    /// - Parameters:
    ///   - yaml: The text.
    ///   - file: The name of the file, for faults.
    /// - Returns: The settings in the order of the document; empty for an empty document.
    /// - Throws: One fault, where the text is not valid YAML or the root is not a mapping.
    static func read(
        _ yaml: String,
        file: String
    ) throws(ConfigurationError) -> [Setting] {
        let root: YAMLNode?
        do throws(YAMLFault) {
            root = try YAMLDocument.read(yaml)
        } catch {
            throw ConfigurationError([fault(error, file: file)])
        }
        guard let root else { return [] }
        if root.text?.isEmpty == true { return [] }
        guard case .mapping = root.value else {
            let origin = SettingOrigin.line(root.line, file: file)
            let problem = "the file must be a list of \"key: value\" lines"
            throw ConfigurationError([ConfigurationFault(key: "", problem: problem, origin: origin)]
            )
        }
        var settings: [Setting] = []
        try flatten(root, path: [], line: 1, file: file, into: &settings)
        return settings
    }

    private static func flatten(
        _ node: YAMLNode,
        path: [String],
        line: Int,
        file: String,
        into settings: inout [Setting]
    ) throws(ConfigurationError) {
        guard settings.count <= valuesMax else {
            let problem =
                "there are more than \(valuesMax) values: aliases count as what they stand for"
            let origin = SettingOrigin.line(line, file: file)
            throw ConfigurationError([ConfigurationFault(key: "", problem: problem, origin: origin)]
            )
        }
        func add(_ value: Setting.Value) {
            settings.append(Setting(path: path, value: value, origin: .line(line, file: file)))
        }
        switch node.value {
        case .scalar(let text, let isQuoted): add(.text(text, isQuoted: isQuoted))
        case .mapping(let pairs):
            if pairs.isEmpty { add(.emptySection) }
            for (key, value) in pairs {
                // A key that is itself a list or mapping has no name: it becomes `?`. The line is the key's: the value
                // may begin further down, and an alias points elsewhere.
                let path = path + [key.text ?? "?"]
                try flatten(value, path: path, line: key.line, file: file, into: &settings)
            }
        case .sequence(let items):
            if items.isEmpty { add(.emptyList) }
            for (index, item) in items.enumerated() {
                try flatten(
                    item,
                    path: path + ["\(index)"],
                    line: item.line,
                    file: file,
                    into: &settings
                )
            }
        }
    }

    private static func fault(_ fault: YAMLFault, file: String) -> ConfigurationFault {
        switch fault {
        case .syntax(let problem, let line, let column):
            ConfigurationFault(
                key: "",
                problem: "this is not YAML at column \(column): \(problem)",
                origin: .line(line, file: file)
            )
        case .unreadable(let problem, let offset):
            ConfigurationFault(
                key: "",
                problem: "\(file): this is not YAML at byte \(offset): \(problem)"
            )
        case .repeatedKeysWithoutText:
            ConfigurationFault(
                key: "",
                problem: "\(file): a list or a mapping stands where a key should, more than once"
            )
        case .repeatedKeys(let names, let line):
            ConfigurationFault(
                key: names.joined(separator: ", "),
                problem: "is written twice in the same place: keep one",
                origin: .line(line, file: file)
            )
        }
    }
}
