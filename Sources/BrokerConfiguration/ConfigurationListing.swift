import Broker

extension Configuration {
    /// All keys with their values, in the order of the reference; secrets are hidden.
    package var listed: [ListedSetting] {
        let defaults = Self.values(of: ConfigurationKeys.all, in: Configuration())
        let appDefaults = Self.values(
            // What has to be written has no default.
            of: AppKeys.all.filter { !$0.isRequired },
            in: AppConfiguration(id: "", key: "", secret: "")
        )
        return ConfigurationKeys.all.flatMap { $0.listed(self, "") }
            .map { setting in
                var setting = setting
                let keyOfApp = Self.keyOfApp(setting.key)
                let expected = keyOfApp.map { appDefaults[$0] } ?? defaults[setting.key]
                setting.isDefault = setting.value == expected
                return setting
            }
    }

    /// The configuration that is in force after a reload: what takes effect at the next start stays as it is.
    package func reloaded(_ other: Configuration) -> Configuration {
        var result = self
        for key in ConfigurationKeys.all where key.isReloaded {
            key.copy(other, &result)
        }
        return result
    }

    /// Returns the changed keys that take effect at the next start.
    package func restartKeys(comparedWith other: Configuration) -> [String] {
        ConfigurationKeys.all.filter { !$0.isReloaded && !$0.isSame(self, other) }.map(\.path)
    }

    /// The value of a key as in the file, `N` standing for the position of an app: where apps differ, each value once.
    ///
    /// - Parameter key: The key, such as `limits.connections_max` or `apps.N.members_max`.
    /// - Returns: The values in the order of the apps; empty for an unknown key, a list or a section.
    package func written(_ key: String) -> [String] {
        let appPrefix = "apps.N."
        guard key.hasPrefix(appPrefix) else {
            let key = ConfigurationKeys.all.first { $0.path == key }
            return [key?.written(self)].compactMap(\.self)
        }
        let path = key.dropFirst(appPrefix.count)
        let appKey = AppKeys.all.first { $0.path == path }
        var values: [String] = []
        for app in apps {
            if let value = appKey?.written(app), !values.contains(value) { values.append(value) }
        }
        return values
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

extension AppConfiguration {
    /// A text that differs where the values of keys do, secrets included; not for people.
    package var identity: String { AppKeys.all.identity(of: self) }
}
