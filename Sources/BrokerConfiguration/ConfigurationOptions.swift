/// The settings of the command line, which override file and environment.
public struct ConfigurationOptions: Sendable {
    private(set) var settings: [Setting] = []
    private(set) var replacedLists: Set<String> = []

    /// Creates options without settings.
    public init() {}

    /// Sets a key, such as `--port 7000`.
    ///
    /// - Parameters:
    ///   - key: The key's path, such as `listen.port`.
    ///   - value: The text of the value, as in the file.
    ///   - option: The option's name, for faults: `--port`.
    public mutating func set(_ key: String, to value: String, by option: String) {
        settings.append(
            Setting(
                path: key.split(separator: ".").map(String.init),
                value: .text(value, isQuoted: false),
                origin: .option(option)
            )
        )
    }

    /// Adds an app, such as `--app ID:KEY:SECRET`; the first one replaces the apps of file and environment.
    ///
    /// - Parameters:
    ///   - app: The app's ID, key and secret.
    ///   - option: The option's name, for faults.
    public mutating func addApp(_ app: (id: String, key: String, secret: String), by option: String)
    {
        replacedLists.insert("apps")
        let index = settings.count { $0.path.first == "apps" && $0.path.last == "id" }
        for (name, value) in [("id", app.id), ("key", app.key), ("secret", app.secret)] {
            settings.append(
                Setting(
                    path: ["apps", "\(index)", name],
                    value: .text(value, isQuoted: true),
                    origin: .option(option)
                )
            )
        }
    }
}
