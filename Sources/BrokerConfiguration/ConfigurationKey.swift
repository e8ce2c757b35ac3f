/// A key of the configuration file: its path, its schema, the property that it sets, and its explanation.
///
/// The tables of keys define all keys. The reading of files, environment and options, the suggestions for misspelt
/// keys, the bounds, the comparison of configurations and the reference of all keys are derived from them.
struct ConfigurationKey<Root: Sendable>: Sendable {
    /// The path inside `Root`: `listen.port` of a configuration, `secret` of an app.
    let path: String
    /// The schema of the value.
    let schema: ConfigurationSchema
    /// Whether the key is required.
    let isRequired: Bool
    /// Sets the property from the settings at the key's place, or adds faults.
    let read: @Sendable (SettingTree, inout Root, inout [ConfigurationFault]) -> Void
    /// Returns the faults of the property's value.
    ///
    /// The text is the prefix of the key.
    let validate: @Sendable (Root, String) -> [ConfigurationFault]
    /// The property's value as text for the file; `nil` for a list or section.
    let written: @Sendable (Root) -> String?
    /// Returns the property's values with their paths, as text to show: secrets are not in it.
    ///
    /// The text is the prefix of the key.
    let listed: @Sendable (Root, String) -> [ListedSetting]
    /// Whether a reload applies the key; a change of any other takes effect at the next start.
    let isReloaded: Bool
    /// Sets the property of the second root to that of the first.
    let copy: @Sendable (Root, inout Root) -> Void
    /// Whether two roots have equal values of the property.
    let isSame: @Sendable (Root, Root) -> Bool
    /// A text that differs where the property does, secrets included; not for people.
    let identity: @Sendable (Root) -> String
    /// The key as the reference shows it, with the property's value.
    let reference: @Sendable (Root) -> KeyReference

    /// The parts of the path.
    var parts: [String] { path.split(separator: ".").map(String.init) }

    typealias Property<Value> = any WritableKeyPath<Root, Value> & Sendable

    /// Creates a key with one value.
    ///
    /// - Parameters:
    ///   - path: The path inside `Root`.
    ///   - property: The property that the key sets.
    ///   - kind: The kind of its value.
    ///   - isRequired: Whether a configuration without the key is refused.
    ///   - isReloaded: Whether a reload applies the key.
    ///   - example: The value in the reference, as YAML; `nil` for the property's.
    ///   - help: The explanation in the reference: the effect and the unit. An empty line separates paragraphs.
    init<Value: Sendable & Equatable>(
        _ path: String,
        _ property: Property<Value>,
        _ kind: SettingKind<Value>,
        isRequired: Bool = false,
        isReloaded: Bool = false,
        example: String? = nil,
        help: String
    ) {
        self.path = path
        self.isRequired = isRequired
        self.isReloaded = isReloaded
        schema = .value(kind.expectation)
        read = { place, root, faults in
            if let value = kind.read(place, &faults) { root[keyPath: property] = value }
        }
        validate = { root, prefix in kind.faults(of: root[keyPath: property], at: prefix + path) }
        written = { kind.text($0[keyPath: property]) }
        listed = { [ListedSetting(key: $1 + path, value: kind.text($0[keyPath: property]))] }
        copy = { $1[keyPath: property] = $0[keyPath: property] }
        isSame = { $0[keyPath: property] == $1[keyPath: property] }
        identity = { String(reflecting: $0[keyPath: property]) }
        reference = { root in
            let value = example ?? kind.text(root[keyPath: property])
            return KeyReference(path: path, help: help, range: kind.range, content: .value(value))
        }
    }

    /// Creates a key with a list of values.
    ///
    /// The examples are items, as YAML, for the reference of a list without items.
    init<Value: Sendable & Equatable>(
        _ path: String,
        _ property: Property<[Value]>,
        listOf kind: SettingKind<Value>,
        examples: [String] = [],
        help: String
    ) {
        self.path = path
        (isRequired, isReloaded) = (false, false)
        schema = .list(.value(kind.expectation))
        read = { place, root, faults in
            if let values = place.list(&faults, { kind.read($0, &$1) }) {
                root[keyPath: property] = values.compactMap(\.self)
            }
        }
        validate = { root, prefix in
            root[keyPath: property].enumerated()
                .flatMap { kind.faults(of: $1, at: "\(prefix)\(path).\($0)") }
        }
        written = { _ in nil }
        listed = { root, prefix in
            let texts = root[keyPath: property].map { kind.text($0) }
            let value = texts.isEmpty ? "[]" : texts.joined(separator: ", ")
            return [ListedSetting(key: prefix + path, value: value)]
        }
        copy = { $1[keyPath: property] = $0[keyPath: property] }
        isSame = { $0[keyPath: property] == $1[keyPath: property] }
        identity = { String(reflecting: $0[keyPath: property]) }
        reference = { root in
            let items = root[keyPath: property].map(kind.text)
            let content: KeyReference.Content = items.isEmpty ? .examples(examples) : .list(items)
            return KeyReference(path: path, help: help, content: content)
        }
    }

    /// Creates a key with one value or several: a list, or a text with commas, which a variable and an option can hold.
    init(
        _ path: String,
        _ property: Property<[String]>,
        oneOrMore kind: SettingKind<String>,
        help: String
    ) {
        self.path = path
        (isRequired, isReloaded) = (false, false)
        schema = .values(kind.expectation)
        read = { place, root, faults in
            let values: [String]?
            if let setting = place.setting, case .text(let text, _) = setting.value {
                // A later source replaces the whole list of an earlier one.
                let parts = text.split(separator: ",", omittingEmptySubsequences: false)
                values = parts.compactMap { part in
                    var (setting, part) = (setting, part.drop { $0 == " " })
                    while part.last == " " { part.removeLast() }
                    setting.value = .text(String(part), isQuoted: false)
                    return kind.read(setting, &faults)
                }
            } else if place.setting != nil {
                values = kind.read(place, &faults).map { [$0] }
            } else {
                values = place.list(&faults) { kind.read($0, &$1) }?.compactMap(\.self)
            }
            // With a fault, the default stays, whose faults are not reported.
            if let values, !values.isEmpty { root[keyPath: property] = values }
        }
        validate = { root, prefix in
            root[keyPath: property].flatMap { kind.faults(of: $0, at: prefix + path) }
        }
        written = { $0[keyPath: property].map(kind.text).joined(separator: ", ") }
        listed = { root, prefix in
            let texts = root[keyPath: property].map(kind.text)
            return [ListedSetting(key: prefix + path, value: texts.joined(separator: ", "))]
        }
        copy = { $1[keyPath: property] = $0[keyPath: property] }
        isSame = { $0[keyPath: property] == $1[keyPath: property] }
        identity = { String(reflecting: $0[keyPath: property]) }
        reference = { root in
            let values = root[keyPath: property].map(kind.text).joined(separator: ", ")
            return KeyReference(path: path, help: help, range: kind.range, content: .value(values))
        }
    }

    /// Creates a key with a list of sections.
    ///
    /// - Parameters:
    ///   - path: The path inside `Root`.
    ///   - property: The list.
    ///   - keys: The keys of each item.
    ///   - blank: An item with the default values.
    ///   - isReloaded: Whether a reload applies the key.
    ///   - help: The explanation in the reference.
    init<Item: Sendable & Equatable>(
        _ path: String,
        _ property: Property<[Item]>,
        listOf keys: [ConfigurationKey<Item>],
        blank: Item,
        isReloaded: Bool = false,
        help: String
    ) {
        self.path = path
        self.isReloaded = isReloaded
        isRequired = false
        schema = .list(.of(keys))
        read = { place, root, faults in
            let items = place.list(&faults) { place, faults in
                var item = blank
                // A value in place of a section has its fault already.
                if place.setting == nil { place.read(keys, into: &item, &faults) }
                return item
            }
            if let items { root[keyPath: property] = items }
        }
        validate = { root, prefix in
            root[keyPath: property].enumerated()
                .flatMap { index, item in
                    keys.flatMap { $0.validate(item, "\(prefix)\(path).\(index).") }
                }
        }
        written = { _ in nil }
        listed = { root, prefix in
            let items = root[keyPath: property]
            guard !items.isEmpty else { return [ListedSetting(key: prefix + path, value: "[]")] }
            return items.enumerated().flatMap { index, item in
                keys.flatMap { $0.listed(item, "\(prefix)\(path).\(index).") }
            }
        }
        copy = { $1[keyPath: property] = $0[keyPath: property] }
        isSame = { $0[keyPath: property] == $1[keyPath: property] }
        identity = { root in
            root[keyPath: property].map { keys.identity(of: $0) }.joined(separator: "\n")
        }
        reference = { root in
            let first = root[keyPath: property].first
            let item = keys.map { $0.reference(first ?? blank) }
            let content = KeyReference.Content.item(item, isExample: first == nil)
            return KeyReference(path: path, help: help, content: content)
        }
    }

    /// Creates a key with a section of arbitrary names.
    init(
        _ path: String,
        _ property: Property<[String: String]>,
        names: SettingKind<String>,
        values: SettingKind<String>,
        example: String,
        help: String
    ) {
        self.path = path
        (isRequired, isReloaded) = (false, false)
        schema = .names(.value(values.expectation))
        read = { place, root, faults in
            for branch in place.branches {
                if let value = values.read(branch, &faults) {
                    root[keyPath: property][branch.name] = value
                }
            }
        }
        validate = { root, prefix in
            root[keyPath: property].sorted { $0.key < $1.key }
                .flatMap { name, value in
                    let key = "\(prefix)\(path).\(name)"
                    if !names.isValid(name) {
                        let problem = "must be named by \(names.expectation)"
                        return [ConfigurationFault(key: key, problem: problem)]
                    }
                    return values.faults(of: value, at: key)
                }
        }
        written = { _ in nil }
        listed = { root, prefix in
            let entries = root[keyPath: property].sorted { $0.key < $1.key }
            guard !entries.isEmpty else { return [ListedSetting(key: prefix + path, value: "{}")] }
            return entries.map { name, value in
                ListedSetting(key: "\(prefix)\(path).\(name)", value: values.text(value))
            }
        }
        copy = { $1[keyPath: property] = $0[keyPath: property] }
        isSame = { $0[keyPath: property] == $1[keyPath: property] }
        identity = { root in
            root[keyPath: property].sorted { $0.key < $1.key }
                .map { String(reflecting: [$0.key, $0.value]) }.joined()
        }
        reference = { _ in KeyReference(path: path, help: help, content: .value(example)) }
    }
}

/// A value of the configuration as text to show.
package struct ListedSetting: Sendable, Equatable {
    /// The path, such as `apps.0.secret`.
    package let key: String
    /// The value as in the file; `(secret)` for a secret.
    package let value: String
    /// Whether it is the default.
    package internal(set) var isDefault = false
}

/// A key as the reference shows it: its explanation, its valid values, and a value.
struct KeyReference: Sendable {
    /// What follows the key.
    indirect enum Content: Sendable {
        /// A value, as YAML.
        case value(String)
        /// The items of a list.
        case list([String])
        /// Items of a list that is empty, commented out.
        case examples([String])
        /// The keys of a list's only item; commented out if the list is empty.
        case item([KeyReference], isExample: Bool)
    }

    /// The path in its section.
    var path: String
    /// The explanation; an empty line separates paragraphs.
    let help: String
    /// The valid values in a few words.
    var range: String?
    /// What follows the key.
    let content: Content
}

extension Array {
    /// A text that differs where the roots' properties do, secrets included.
    func identity<Root>(of root: Root) -> String where Element == ConfigurationKey<Root> {
        map { "\($0.path)=\($0.identity(root))" }.joined(separator: "\n")
    }
}

extension SettingTree {
    /// Sets the properties of `root` from the settings beneath this place.
    func read<Root>(
        _ keys: [ConfigurationKey<Root>],
        into root: inout Root,
        _ faults: inout [ConfigurationFault]
    ) {
        for key in keys {
            if let place = self[key.parts] {
                key.read(place, &root, &faults)
            } else if key.isRequired, case .value(let expectation) = key.schema {
                let path = (path + key.parts).joined(separator: ".")
                let problem = "is missing: it must be \(expectation)"
                faults.append(ConfigurationFault(key: path, problem: problem, origin: origin))
            }
        }
    }

    /// Reads a list at this place, each item with `element`; returns `nil` if there is no list.
    fileprivate func list<Element>(
        _ faults: inout [ConfigurationFault],
        _ element: (SettingTree, inout [ConfigurationFault]) -> Element
    ) -> [Element]? {
        if setting?.value == .emptyList { return [] }
        let items = branches.compactMap { place in
            ConfigurationSchema.isPosition(place.name) ? (Int(place.name) ?? 0, place) : nil
        }
        guard !items.isEmpty else { return nil }
        var elements: [Element] = []
        for (position, place) in items.sorted(by: { $0.0 < $1.0 }) {
            if position == elements.count {
                elements.append(element(place, &faults))
                continue
            }
            let problem = "is in no item: the next one is \(key).\(elements.count)"
            faults += place.settings.map { $0.fault(problem) }
        }
        return elements
    }
}
