/// A value of the configuration as text to show.
struct ListedSetting: Sendable, Equatable {
    /// The path, such as `apps.0.secret`.
    let key: String
    /// The value as in the file; `(secret)` for a secret.
    let value: String
    /// Whether it is the default.
    var isDefault = false
}

extension Configuration {
    /// All keys with their values, in the order of the reference; secrets are hidden.
    var listed: [ListedSetting] {
        let defaults = Self.values(of: ConfigurationKey<Configuration>.all, in: Configuration())
        let appDefaults = Self.values(
            // What has to be written has no default.
            of: ConfigurationKey<AppConfiguration>.all.filter { !$0.isRequired },
            in: AppConfiguration(id: "", key: "", secret: "")
        )
        return ConfigurationKey<Configuration>.all.flatMap { $0.listed(self, "") }
            .map { setting in
                var setting = setting
                let keyOfApp = Self.keyOfApp(setting.key)
                let expected = keyOfApp.map { appDefaults[$0] } ?? defaults[setting.key]
                setting.isDefault = setting.value == expected
                return setting
            }
    }

    /// The configuration that is in force after a reload: what takes effect at the next start stays as it is.
    func reloaded(_ other: Configuration) -> Configuration {
        var result = self
        result.apps = other.apps
        result.log.level = other.log.level
        result.shutdown = other.shutdown
        result.certificates = other.certificates
        return result
    }

    private static func values<Root>(
        of keys: [ConfigurationKey<Root>],
        in root: Root
    ) -> [String: String] {
        let settings = keys.flatMap { $0.listed(root, "") }
        return Dictionary(settings.map { ($0.key, $0.value) }) { first, _ in first }
    }

    /// `secret` of `apps.0.secret`; `nil` for a key outside an app.
    private static func keyOfApp(_ key: String) -> String? {
        let parts = key.split(separator: ".", maxSplits: 2)
        guard parts.count == 3, parts[0] == "apps", Int(parts[1]) != nil else { return nil }
        return String(parts[2])
    }
}
