internal import Glibc
internal import Net

extension Configuration {
    /// Reads a configuration: the file, overridden by the environment, overridden by the options.
    ///
    /// - Parameters:
    ///   - file: The path of a YAML file; `nil` for ``development``, which the rest may change.
    ///   - environment: The variables of the process; those that begin with `FANFARE_` count.
    ///   - options: What the command line says.
    /// - Returns: A configuration without faults.
    /// - Throws: Every fault that was found, each with its key, its place and what to write instead.
    public static func load(
        file: String?,
        environment: [String: String] = [:],
        options: ConfigurationOptions = ConfigurationOptions()
    ) throws(ConfigurationError) -> Configuration {
        guard let file else {
            return try load(yaml: "", file: "", environment: environment, options: options)
        }
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
        return try load(yaml: yaml, file: file, environment: environment, options: options)
    }

    /// Reads a configuration from a text; see ``load(file:environment:options:)``.
    static func load(
        yaml: String,
        file: String,
        environment: [String: String] = [:],
        options: ConfigurationOptions = ConfigurationOptions()
    ) throws(ConfigurationError) -> Configuration {
        var reading = ConfigurationReading()
        for setting in try YAMLSettings.read(yaml, file: file) { reading.settings.set(setting) }
        for setting in EnvironmentSettings.read(environment, faults: &reading.faults) {
            reading.settings.set(setting)
        }
        for list in options.replacedLists { reading.settings.removeAll(beneath: [list]) }
        for setting in options.settings { reading.settings.set(setting) }
        return try reading.finish()
    }
}

/// The step from settings to a configuration, which collects every fault on its way.
struct ConfigurationReading {
    var settings = Settings()
    var faults: [ConfigurationFault] = []
    private var configuration = Configuration()

    /// Reads the settings and judges the result.
    mutating func finish() throws(ConfigurationError) -> Configuration {
        for setting in settings.all { readSingle(setting) }
        if let certificates = readList(
            "tls.certificates",
            keys: ConfigurationKey<CertificateFiles>.all,
            blank: CertificateFiles(certificate: "", key: "")
        ) {
            configuration.certificates = certificates
        }
        if let apps = readList(
            "apps",
            keys: ConfigurationKey<AppConfiguration>.all,
            blank: AppConfiguration(id: "", key: "", secret: "")
        ) {
            configuration.apps = apps
        }
        // What could not be read has its fault; what its default breaks is no news.
        let known = faults.map(\.key)
        for var fault in configuration.faults() {
            let isKnown = known.contains { key in
                key == fault.key || key.hasPrefix(fault.key + ".")
                    || !key.isEmpty && fault.key.hasPrefix(key + ".")
            }
            if isKnown { continue }
            fault.origin = settings.origin(of: fault.key)
            faults.append(fault)
        }
        guard faults.isEmpty else { throw ConfigurationError(faults) }
        return configuration
    }

    /// Reads a key outside lists, and finds fault with whatever is no key.
    private mutating func readSingle(_ setting: Setting) {
        switch ConfigurationSchema.place(of: setting.path) {
        case .key(let pattern):
            // The keys inside lists are read item by item.
            for key in ConfigurationKey<Configuration>.all where key.path == pattern {
                if !key.assign(setting.value, &configuration) { refuse(setting, key.expectation) }
            }
        case .section(let names):
            if setting.value.isNone || setting.value == .emptySection { return }
            add(
                setting,
                "is a section: write its keys beneath it, indented: "
                    + names.joined(separator: ", ")
            )
        case .list(let keys):
            if setting.value.isNone || setting.value == .emptyList { return }
            addListFault(setting.key, keys, setting.origin)
        case .item(let keys):
            add(setting, "must have the keys " + keys.joined(separator: ", "))
        case .unnumbered(let list):
            let keys = ConfigurationSchema.lists.first { $0.name == list }?.itemKeys ?? []
            addListFault(list, keys, setting.origin)
        case .inside(let key):
            let path = key.split(separator: ".").map(String.init)
            let outer = Setting(path: path, value: setting.value, origin: setting.origin)
            guard !faults.contains(where: { $0.key == outer.key }) else { return }
            add(outer, "must be \(expectation(of: path)), not a list or section")
        case .unknown:
            add(setting, "is not a key" + proposal(for: setting.path))
        }
    }

    /// Reads the items of a list; `nil` when nobody wrote it.
    private mutating func readList<Item>(
        _ name: String,
        keys: [ConfigurationKey<Item>],
        blank: Item
    ) -> [Item]? {
        let path = name.split(separator: ".").map(String.init)
        let written = settings.all.filter { $0.path.starts(with: path) }
        if written.contains(where: { $0.path == path && $0.value == .emptyList }) { return [] }
        let inItems = written.filter { $0.path.count > path.count }
        let positions = Set(inItems.compactMap { Int($0.path[path.count]) }).sorted()
        guard !positions.isEmpty else { return nil }

        var items: [Item] = []
        for (expected, position) in positions.enumerated() {
            let itemPath = path + ["\(position)"]
            let own = inItems.filter { $0.path.starts(with: itemPath) }
            guard position == expected else {
                let place = "\(name).\(expected)"
                for setting in own { add(setting, "is in no item: the next one is \(place)") }
                continue
            }
            var item = blank
            // An item that is no section has its fault already.
            if own.contains(where: { $0.path == itemPath }) {
                items.append(item)
                continue
            }
            for key in keys {
                guard let setting = own.first(where: { $0.path == itemPath + [key.path] }) else {
                    let missing = "\(name).\(position).\(key.path)"
                    if key.isRequired, let first = own.first {
                        let problem = "is missing: it must be \(key.expectation)"
                        faults.append(
                            ConfigurationFault(key: missing, problem: problem, origin: first.origin)
                        )
                    }
                    continue
                }
                if !key.assign(setting.value, &item) { refuse(setting, key.expectation) }
            }
            items.append(item)
        }
        return items
    }

    private mutating func refuse(_ setting: Setting, _ expectation: String) {
        let isSecret = setting.path.last == "secret"
        let written =
            switch setting.value {
            case .text where setting.value.isNone: "nothing"
            case .text(let text, _): isSecret ? "this" : "\"\(text)\""
            case .emptyList, .emptySection: "a list or section"
            }
        add(setting, "must be \(expectation), not \(written)")
    }

    private mutating func addListFault(_ list: String, _ keys: [String], _ origin: SettingOrigin) {
        guard !faults.contains(where: { $0.key == list }) else { return }
        let problem =
            "is a list: begin each item with \"- \" and write its keys: "
            + keys.joined(separator: ", ")
        faults.append(ConfigurationFault(key: list, problem: problem, origin: origin))
    }

    private mutating func add(_ setting: Setting, _ problem: String) {
        faults.append(
            ConfigurationFault(key: setting.key, problem: problem, origin: setting.origin)
        )
    }

    private func expectation(of path: [String]) -> String {
        let pattern = ConfigurationSchema.pattern(of: path)
        let name = path.last ?? ""
        return ConfigurationKey<Configuration>.all.first { $0.path == pattern }?.expectation
            ?? (path.first == "apps"
                ? ConfigurationKey<AppConfiguration>.all.first { $0.path == name }?.expectation
                : ConfigurationKey<CertificateFiles>.all.first { $0.path == name }?
                    .expectation)
            ?? "one value"
    }

    private func proposal(for path: [String]) -> String {
        let close = Resemblance.closest(
            to: ConfigurationSchema.pattern(of: path),
            among: ConfigurationSchema.patterns,
            separator: "."
        )
        if !close.isEmpty {
            let keys = close.map { ConfigurationSchema.key($0, withPositionsOf: path) }
            return ": did you mean " + keys.joined(separator: " or ") + "?"
        }
        switch ConfigurationSchema.place(of: Array(path.dropLast())) {
        case .section(let names), .item(let names), .list(let names):
            let place = path.count > 1 ? path.dropLast().joined(separator: ".") : "the file"
            return ": \(place) may have " + names.joined(separator: ", ")
        default:
            return ": the file may have "
                + ConfigurationSchema.names(in: "").joined(separator: ", ")
        }
    }
}
