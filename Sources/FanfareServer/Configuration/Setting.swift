/// One value that somebody wrote, before anyone knows whether its key exists.
///
/// A file, the environment and the options all come down to a flat list of these, so that one
/// reading judges all three and every fault can say where its setting was written.
struct Setting: Sendable, Equatable {
    /// The names and list positions that lead to the value: `["apps", "0", "secret"]`.
    var path: [String]
    /// The value.
    var value: Value
    /// Where it was written.
    var origin: SettingOrigin

    /// The path as people write it: `apps.0.secret`.
    var key: String { path.joined(separator: ".") }

    /// A scalar's text, or a collection with nothing in it.
    enum Value: Sendable, Equatable {
        /// Text; not quoted, `none` and nothing at all stand for the absence of a value.
        case text(String, isQuoted: Bool)
        /// `[]`.
        case emptyList
        /// `{}`.
        case emptySection

        /// Whether it says that there is to be no value.
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

    /// Adds a setting, or replaces what an earlier source said about the same path.
    mutating func set(_ setting: Setting) {
        // A value inside a list or section ends the claim that it is empty.
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

    /// Removes everything beneath a path, as an option does that replaces a whole list.
    mutating func removeAll(beneath path: [String]) {
        self = Settings(all.filter { !$0.path.starts(with: path) })
    }

    /// Where a key was written; for a list or section, where its first value was.
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
