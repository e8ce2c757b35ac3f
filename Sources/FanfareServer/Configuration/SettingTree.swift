/// Settings by the parts of their paths: what is written at a place, and what beneath it.
struct SettingTree: Sendable {
    /// The place, from the outermost name on.
    let path: [String]
    /// What is written at this very place.
    private(set) var setting: Setting?
    /// What is written beneath, in the order of the sources.
    private(set) var branches: [SettingTree] = []
    private var indices: [String: Int] = [:]

    /// Makes the tree of all settings.
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

    /// The place as people write it: `apps.0.secret`.
    var key: String { path.joined(separator: ".") }

    /// The last part of the path.
    var name: String { path.last ?? "" }

    /// What is written at a place beneath this one; `nil` when nothing is.
    subscript(parts: [String]) -> SettingTree? {
        var place = self
        for part in parts {
            guard let index = place.indices[part] else { return nil }
            place = place.branches[index]
        }
        return place
    }

    /// Where the first of what is written here or beneath was written.
    var origin: SettingOrigin? { setting?.origin ?? branches.first?.origin }

    /// Everything that is written here or beneath.
    var settings: [Setting] { (setting.map { [$0] } ?? []) + branches.flatMap(\.settings) }
}
