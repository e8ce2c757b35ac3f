/// A key of the configuration file: its path, what may be written there, and the property that it sets.
///
/// The tables of keys are the one place that knows which keys there are. The reading of files,
/// environment and options, the proposals for misspelt keys, the bounds and the differences between
/// two configurations all follow from them.
struct ConfigurationKey<Root: Sendable>: Sendable {
    /// The path inside `Root`: `listen.port` of a configuration, `secret` of an app.
    let path: String
    /// What may be written there.
    let shape: ConfigurationShape
    /// Whether it must be written.
    let isRequired: Bool
    /// Sets the property by what is written at the key's place, or says what is wrong with that.
    let read: @Sendable (SettingTree, inout Root, inout [ConfigurationFault]) -> Void
    /// Says what is out of bounds; the text is what the property's key begins with.
    let judge: @Sendable (Root, String) -> [ConfigurationFault]
    /// The property as one would write it; `nil` for a list or section.
    let written: @Sendable (Root) -> String?
    /// Whether two have the same property.
    let isSame: @Sendable (Root, Root) -> Bool

    /// The parts of the path.
    var parts: [String] { path.split(separator: ".").map(String.init) }

    typealias Property<Value> = any WritableKeyPath<Root, Value> & Sendable

    /// A key with one value.
    init<Value: Sendable & Equatable>(
        _ path: String,
        _ property: Property<Value>,
        _ kind: SettingKind<Value>,
        isRequired: Bool = false
    ) {
        self.path = path
        self.isRequired = isRequired
        shape = .value(kind.expectation)
        read = { place, root, faults in
            if let value = kind.read(place, &faults) { root[keyPath: property] = value }
        }
        judge = { root, prefix in kind.faults(of: root[keyPath: property], at: prefix + path) }
        written = { kind.text($0[keyPath: property]) }
        isSame = { $0[keyPath: property] == $1[keyPath: property] }
    }

    /// A key with a list of values.
    init<Value: Sendable & Equatable>(
        _ path: String,
        _ property: Property<[Value]>,
        listOf kind: SettingKind<Value>
    ) {
        self.path = path
        isRequired = false
        shape = .list(.value(kind.expectation))
        read = { place, root, faults in
            if let values = place.list(&faults, { kind.read($0, &$1) }) {
                root[keyPath: property] = values.compactMap(\.self)
            }
        }
        judge = { root, prefix in
            root[keyPath: property].enumerated()
                .flatMap { kind.faults(of: $1, at: "\(prefix)\(path).\($0)") }
        }
        written = { _ in nil }
        isSame = { $0[keyPath: property] == $1[keyPath: property] }
    }

    /// A key with a list of sections, whose keys are given.
    ///
    /// - Parameters:
    ///   - path: The path inside `Root`.
    ///   - property: The list.
    ///   - keys: The keys of each item.
    ///   - blank: An item of which nothing is written.
    init<Item: Sendable & Equatable>(
        _ path: String,
        _ property: Property<[Item]>,
        listOf keys: [ConfigurationKey<Item>],
        blank: Item
    ) {
        self.path = path
        isRequired = false
        shape = .list(.of(keys))
        read = { place, root, faults in
            let items = place.list(&faults) { place, faults in
                var item = blank
                // An item that is no section has its fault already.
                if place.setting == nil { place.read(keys, into: &item, &faults) }
                return item
            }
            if let items { root[keyPath: property] = items }
        }
        judge = { root, prefix in
            root[keyPath: property].enumerated()
                .flatMap { index, item in
                    keys.flatMap { $0.judge(item, "\(prefix)\(path).\(index).") }
                }
        }
        written = { _ in nil }
        isSame = { $0[keyPath: property] == $1[keyPath: property] }
    }

    /// A key with a section whose names are the writer's choice.
    init(
        _ path: String,
        _ property: Property<[String: String]>,
        names: SettingKind<String>,
        values: SettingKind<String>
    ) {
        self.path = path
        isRequired = false
        shape = .names(.value(values.expectation))
        read = { place, root, faults in
            for branch in place.branches {
                if let value = values.read(branch, &faults) {
                    root[keyPath: property][branch.name] = value
                }
            }
        }
        judge = { root, prefix in
            root[keyPath: property].sorted { $0.key < $1.key }
                .flatMap { name, value in
                    let key = "\(prefix)\(path).\(name)"
                    if !names.holds(name) {
                        let problem = "must be named by \(names.expectation)"
                        return [ConfigurationFault(key: key, problem: problem)]
                    }
                    return values.faults(of: value, at: key)
                }
        }
        written = { _ in nil }
        isSame = { $0[keyPath: property] == $1[keyPath: property] }
    }
}

extension SettingKind {
    /// The value that is written at a place; `nil` and a fault when what is written stands for none.
    fileprivate func read(_ place: SettingTree, _ faults: inout [ConfigurationFault]) -> Value? {
        // A list or section in the place of a value has its fault already.
        guard let setting = place.setting else { return nil }
        if case .text(let text, _) = setting.value,
            let value = setting.value.isNone ? absence : read(text)
        {
            return value
        }
        let written =
            switch setting.value {
            case .text where setting.value.isNone: "nothing"
            case .text(let text, _): isSecret ? "this" : "\"\(text)\""
            case .emptyList, .emptySection: "a list or section"
            }
        let problem = "must be \(expectation), not \(written)"
        faults.append(
            ConfigurationFault(key: setting.key, problem: problem, origin: setting.origin)
        )
        return nil
    }

    /// The fault of a value that is out of bounds.
    fileprivate func faults(of value: Value, at key: String) -> [ConfigurationFault] {
        if holds(value) { return [] }
        let problem = "must be \(expectation), not \"\(text(value))\""
        return [ConfigurationFault(key: key, problem: problem)]
    }
}

extension SettingTree {
    /// Sets the properties of `root` by what is written beneath this place.
    func read<Root>(
        _ keys: [ConfigurationKey<Root>],
        into root: inout Root,
        _ faults: inout [ConfigurationFault]
    ) {
        for key in keys {
            if let place = self[key.parts] {
                key.read(place, &root, &faults)
            } else if key.isRequired, case .value(let expectation) = key.shape {
                let path = (path + key.parts).joined(separator: ".")
                let problem = "is missing: it must be \(expectation)"
                faults.append(ConfigurationFault(key: path, problem: problem, origin: origin))
            }
        }
    }

    /// What is written as a list at this place, each item read by `element`; `nil` when no list is.
    fileprivate func list<Element>(
        _ faults: inout [ConfigurationFault],
        _ element: (SettingTree, inout [ConfigurationFault]) -> Element
    ) -> [Element]? {
        if setting?.value == .emptyList { return [] }
        let items = branches.compactMap { place in
            ConfigurationShape.isPosition(place.name) ? (Int(place.name) ?? 0, place) : nil
        }
        guard !items.isEmpty else { return nil }
        var elements: [Element] = []
        for (position, place) in items.sorted(by: { $0.0 < $1.0 }) {
            if position == elements.count {
                elements.append(element(place, &faults))
                continue
            }
            let problem = "is in no item: the next one is \(key).\(elements.count)"
            for setting in place.settings {
                faults.append(
                    ConfigurationFault(key: setting.key, problem: problem, origin: setting.origin)
                )
            }
        }
        return elements
    }
}
