/// Settings as a tree, by the parts of their paths.
struct SettingTree: Sendable {
    /// The path of this place, the outermost name first.
    let path: [String]
    /// The setting at this place.
    private(set) var setting: Setting?
    /// The places beneath this one, in the order of the sources.
    private(set) var branches: [SettingTree] = []
    private var indices: [String: Int] = [:]

    /// Creates the tree of all settings.
    init(_ settings: [Setting]) {
        self.init(path: [])
        for setting in settings { insert(setting) }
    }

    private init(path: [String]) { self.path = path }

    private mutating func insert(_ setting: Setting) {
        guard setting.path.count > path.count else {
            self.setting = setting
            return
        }
        let name = setting.path[path.count]
        if indices[name] == nil {
            indices[name] = branches.count
            branches.append(SettingTree(path: path + [name]))
        }
        branches[indices[name, default: 0]].insert(setting)
    }

    /// The path in its written form: `apps.0.secret`.
    var key: String { path.joined(separator: ".") }

    /// The last part of the path.
    var name: String { path.last ?? "" }

    /// The place with a path relative to this one; `nil` when it has no settings.
    subscript(parts: [String]) -> SettingTree? {
        var place = self
        for part in parts {
            guard let index = place.indices[part] else { return nil }
            place = place.branches[index]
        }
        return place
    }

    /// The source of the first setting at or beneath this place.
    var origin: SettingOrigin? { setting?.origin ?? branches.first?.origin }

    /// All settings at and beneath this place.
    var settings: [Setting] { (setting.map { [$0] } ?? []) + branches.flatMap(\.settings) }
}
