/// One value of any source, before its key is validated.
///
/// File, environment and options are all reduced to a flat list of settings, so that they are validated in one way and
/// every fault has the source of its setting.
struct Setting: Sendable, Equatable {
    /// The names and list positions that lead to the value: `["apps", "0", "secret"]`.
    var path: [String]
    /// The value.
    var value: Value
    /// The source.
    var origin: SettingOrigin

    /// The path in its written form: `apps.0.secret`.
    var key: String { path.joined(separator: ".") }

    /// A fault of the setting.
    func fault(_ problem: String) -> ConfigurationFault {
        ConfigurationFault(key: key, problem: problem, origin: origin)
    }

    /// A scalar's text, or an empty collection.
    enum Value: Sendable, Equatable {
        /// Text. Unquoted, `none` and an empty text mean the absence of a value.
        case text(String, isQuoted: Bool)
        /// `[]`.
        case emptyList
        /// `{}`.
        case emptySection

        /// Whether it means the absence of a value.
        var isNone: Bool {
            guard case .text(let text, isQuoted: false) = self else { return false }
            return ["", "~", "null", "Null", "NULL", "none"].contains(text)
        }
    }
}

/// The settings of all sources, each path once.
struct Settings {
    private(set) var all: [Setting] = []
    private var positions: [[String]: Int] = [:]

    init(_ settings: [Setting] = []) {
        for setting in settings { set(setting) }
    }

    /// Adds a setting, or replaces the value of an earlier source at the same path.
    mutating func set(_ setting: Setting) {
        // A value inside a list or section replaces an empty one.
        for length in 0..<setting.path.count {
            remove(exactly: Array(setting.path.prefix(length)))
        }
        if let position = positions[setting.path] {
            all[position] = setting
        } else {
            positions[setting.path] = all.count
            all.append(setting)
        }
    }

    /// Removes all settings beneath a path, for an option that replaces a whole list.
    mutating func removeAll(beneath path: [String]) {
        self = Settings(all.filter { !$0.path.starts(with: path) })
    }

    /// The source of a key; for a list or section, the source of its first value.
    func origin(of key: String) -> SettingOrigin? {
        let path = key.split(separator: ".").map(String.init)
        return all.first { $0.path == path }?.origin
            ?? all.first { $0.path.starts(with: path) }?.origin
    }

    private mutating func remove(exactly path: [String]) {
        guard positions[path] != nil else { return }
        self = Settings(all.filter { $0.path != path })
    }
}
