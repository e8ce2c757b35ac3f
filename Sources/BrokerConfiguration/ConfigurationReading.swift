internal import Net

extension Configuration {
    /// Reads a configuration: the file, overridden by the environment, overridden by the options.
    ///
    /// - Parameters:
    ///   - file: The path of a YAML file; `nil` for ``development``, which environment and options may change.
    ///   - environment: The variables of the process; those that begin with `FANFARE_` are read.
    ///   - options: The settings of the command line.
    ///   - sections: The top-level keys that the caller uses, whose faults alone are reported; `nil` for all.
    /// - Returns: A valid configuration, or one whose `sections` are.
    /// - Throws: All faults, each with its key, its source and a remedy.
    public static func load(
        file: String?,
        environment: [String: String] = [:],
        options: ConfigurationOptions = ConfigurationOptions(),
        sections: Set<String>? = nil
    ) throws(ConfigurationError) -> Configuration {
        try load(
            yaml: text(of: file),
            file: file ?? "",
            environment: environment,
            options: options,
            sections: sections
        )
    }

    private static func text(of file: String?) throws(ConfigurationError) -> String {
        guard let file else { return "" }
        let bytes: [UInt8]
        do {
            bytes = try FileBytes.read(file)
        } catch {
            let problem = "\(file): the configuration cannot be read: \(error.reason)"
            throw ConfigurationError([ConfigurationFault(key: "", problem: problem)])
        }
        guard let yaml = String(validating: bytes, as: UTF8.self) else {
            let problem = "\(file): the configuration must be text in UTF-8"
            throw ConfigurationError([ConfigurationFault(key: "", problem: problem)])
        }
        return yaml
    }

    /// Reads a configuration from a text; see ``load(file:environment:options:sections:)``.
    package static func load(
        yaml: String,
        file: String,
        environment: [String: String] = [:],
        options: ConfigurationOptions = ConfigurationOptions(),
        sections: Set<String>? = nil
    ) throws(ConfigurationError) -> Configuration {
        var reading = ConfigurationReading()
        for setting in try YAMLSettings.read(yaml, file: file) { reading.settings.set(setting) }
        for setting in EnvironmentSettings.read(environment) { reading.settings.set(setting) }
        for list in options.replacedLists { reading.settings.removeAll(beneath: [list]) }
        for setting in options.settings { reading.settings.set(setting) }
        return try reading.finish(sections)
    }
}

/// Turns settings into a configuration and collects all faults.
struct ConfigurationReading {
    /// The maximum number of misplaced settings that are searched for: each is compared with all keys and with the
    /// faults before it.
    static let misplacedMax = 200

    var settings = Settings()
    var faults: [ConfigurationFault] = []

    /// Reads the settings and validates the result; faults outside of the sections, if any are given, are left out.
    mutating func finish(_ sections: Set<String>? = nil) throws(ConfigurationError) -> Configuration
    {
        for setting in settings.all {
            guard faults.count < ConfigurationReading.misplacedMax else {
                let problem = "there is more that is no key: fix these first"
                faults.append(ConfigurationFault(key: "", problem: problem, origin: setting.origin))
                break
            }
            checkPlace(of: setting)
        }
        var configuration = Configuration()
        SettingTree(settings.all)
            .read(ConfigurationKeys.all, into: &configuration, &faults)
        // An unreadable setting has its fault already; faults of its default are not reported.
        let known = faults.map(\.key)
        for var fault in configuration.faults() {
            let isKnown = known.contains { key in
                key == fault.key || key.hasPrefix(fault.key + ".")
                    || !key.isEmpty && fault.key.hasPrefix(key + ".")
            }
            if isKnown { continue }
            fault.origin = settings.origin(of: fault.key)
            // A variable may be set for another broker of the same environment.
            if case .variable = fault.origin, fault.key == "console.password",
                configuration.console.port == nil
            {
                continue
            }
            faults.append(fault)
        }
        if let sections {
            faults.removeAll { fault in
                let section = fault.key.prefix { $0 != "." }
                return !section.isEmpty && !sections.contains(String(section))
            }
        }
        guard faults.isEmpty else { throw ConfigurationError(faults) }
        return configuration
    }

    /// Adds a fault for a setting without a key, or with a value of another kind.
    private mutating func checkPlace(of setting: Setting) {
        switch ConfigurationKeys.schema.place(of: setting.path) {
        case .value: break  // Checked when its key is read.
        case .section(let names):
            if setting.value.isNone || setting.value == .emptySection { return }
            let which = names.isEmpty ? "" : ": \(names.joined(separator: ", "))"
            let problem = "is a section: write its keys beneath it, indented\(which)"
            faults.append(setting.fault(problem))
        case .list(let element):
            if setting.value.isNone || setting.value == .emptyList { return }
            addListFault(setting.key, of: element, setting.origin)
        case .item(let names):
            faults.append(setting.fault("must have the keys " + names.joined(separator: ", ")))
        case .unnumbered(let list, let element):
            addListFault(list, of: element, setting.origin)
        case .inside(let path, let expectation):
            let outer = Setting(path: path, value: setting.value, origin: setting.origin)
            guard !faults.contains(where: { $0.key == outer.key }) else { return }
            faults.append(outer.fault("must be \(expectation), not a list or section"))
        case .unknown:
            faults.append(setting.fault("is not a key" + suggestion(for: setting.path)))
        }
    }

    private mutating func addListFault(
        _ list: String,
        of element: ConfigurationSchema,
        _ origin: SettingOrigin
    ) {
        guard !faults.contains(where: { $0.key == list }) else { return }
        var problem = "is a list: begin each item with \"- \""
        if case .value(let expectation) = element {
            problem += ", and make it \(expectation)"
        } else {
            problem += " and write its keys: " + element.names.joined(separator: ", ")
        }
        faults.append(ConfigurationFault(key: list, problem: problem, origin: origin))
    }

    private func suggestion(for path: [String]) -> String {
        let schema = ConfigurationKeys.schema
        let written = path.map { ConfigurationSchema.isPosition($0) ? "N" : $0 }
        let close = Suggestion.closest(
            to: written.joined(separator: "."),
            among: ConfigurationKeys.paths,
            separator: "."
        )
        if !close.isEmpty {
            let keys = close.map { ConfigurationSchema.key($0, withPositionsOf: path) }
            return ": did you mean " + keys.joined(separator: " or ") + "?"
        }
        switch schema.place(of: Array(path.dropLast())) {
        case .section(let names) where path.count > 1, .item(let names):
            let place = path.dropLast().joined(separator: ".")
            return ": \(place) may have " + names.joined(separator: ", ")
        default:
            return ": the file may have " + schema.names.joined(separator: ", ")
        }
    }
}
