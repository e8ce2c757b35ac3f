internal import Yams

/// The reading of a YAML document into settings, each with its line.
enum YAMLSettings {
    /// The most values of a document, each alias counted as all that it stands for: a few lines can stand for billions.
    static let valuesMax = 100_000

    /// Reads a document.
    ///
    /// - Parameters:
    ///   - yaml: The text.
    ///   - file: The name to show in faults.
    /// - Returns: The settings in the order of the document; none for an empty one.
    /// - Throws: One fault, where the text stops being YAML or the outermost value is not a mapping.
    static func read(
        _ yaml: String,
        file: String
    ) throws(ConfigurationError) -> [Setting] {
        let root: Node?
        do {
            root = try compose(yaml: yaml)
        } catch let error as YamlError {
            throw ConfigurationError([fault(error, file: file)])
        } catch {
            throw ConfigurationError([ConfigurationFault(key: "", problem: "\(error)")])
        }
        guard let root else { return [] }
        if case .scalar(let scalar) = root, scalar.string.isEmpty { return [] }
        guard case .mapping = root else {
            let origin = SettingOrigin.line(root.mark?.line ?? 1, file: file)
            let problem = "the file must be a list of \"key: value\" lines"
            throw ConfigurationError([ConfigurationFault(key: "", problem: problem, origin: origin)]
            )
        }
        var settings: [Setting] = []
        try flatten(root, path: [], line: 1, file: file, into: &settings)
        return settings
    }

    private static func flatten(
        _ node: Node,
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
        switch node {
        case .scalar(let scalar):
            let isQuoted = ![.any, .plain].contains(scalar.style)
            add(.text(scalar.string, isQuoted: isQuoted))
        case .mapping(let mapping):
            if mapping.isEmpty { add(.emptySection) }
            for (key, value) in mapping {
                // A key that is itself a list or mapping has no name; `?` is none either.
                let name = key.scalar?.string ?? "?"
                // The key's line: a value may begin further down, and an alias points elsewhere.
                let line = key.mark?.line ?? line
                try flatten(value, path: path + [name], line: line, file: file, into: &settings)
            }
        case .sequence(let sequence):
            if sequence.isEmpty { add(.emptyList) }
            for (index, item) in sequence.enumerated() {
                let line = item.mark?.line ?? line
                try flatten(
                    item,
                    path: path + ["\(index)"],
                    line: line,
                    file: file,
                    into: &settings
                )
            }
        case .alias:
            break  // Composing has replaced aliases by what they stand for.
        }
    }

    /// What Yams calls keys that are lists or mappings; which of several it names first, and where, is chance.
    private static let nameOfNoText = "<uncovertable>"

    private static func fault(_ error: YamlError, file: String) -> ConfigurationFault {
        switch error {
        case .scanner(let context, let problem, let mark, _),
            .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            let what = [context?.text, problem].compactMap(\.self).joined(separator: ", ")
            let place = "column \(mark.column)"
            return ConfigurationFault(
                key: "",
                problem: "this is not YAML at \(place): \(what)",
                origin: .line(mark.line, file: file)
            )
        case .duplicatedKeysInMapping(let names, _) where names.contains(nameOfNoText):
            return ConfigurationFault(
                key: "",
                problem: "\(file): a list or a mapping stands where a key should, more than once"
            )
        case .duplicatedKeysInMapping(let names, let context):
            return ConfigurationFault(
                key: names.joined(separator: ", "),
                problem: "is written twice in the same place: keep one",
                origin: .line(context.mark.line, file: file)
            )
        default:
            return ConfigurationFault(
                key: "",
                problem: "\(file): this is not YAML: \(error)"
            )
        }
    }
}
