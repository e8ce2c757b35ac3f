/// The reading of environment variables into settings.
///
/// A key's variable is its path in capitals, with `_` for the dots: `FANFARE_LISTEN_PORT` sets
/// `listen.port`, `FANFARE_APPS_0_SECRET` the secret of the first app. An empty variable sets nothing.
enum EnvironmentSettings {
    static let prefix = "FANFARE_"

    /// Variables that the command-line program reads itself.
    static let ofTheProgram: Set<String> = [
        "FANFARE_CONFIG", "FANFARE_URL", "FANFARE_APP_ID", "FANFARE_KEY", "FANFARE_SECRET",
    ]

    /// Reads the variables that begin with ``prefix``.
    ///
    /// - Parameters:
    ///   - environment: All variables of the process.
    ///   - faults: Gains a fault for each variable that stands for no key.
    /// - Returns: The settings, in the order of the variables' names.
    static func read(
        _ environment: [String: String],
        faults: inout [ConfigurationFault]
    ) -> [Setting] {
        var settings: [Setting] = []
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) {
            guard name.hasPrefix(prefix), !ofTheProgram.contains(name), !value.isEmpty,
                !isServiceLink(name, value)
            else { continue }
            let origin = SettingOrigin.variable(name)
            if let path = path(of: name) {
                let value = Setting.Value.text(value, isQuoted: false)
                settings.append(Setting(path: path, value: value, origin: origin))
            } else {
                let problem = "stands for no key" + proposal(for: name)
                faults.append(ConfigurationFault(key: "", problem: problem, origin: origin))
            }
        }
        return settings
    }

    /// The variable of a key: `FANFARE_APPS_0_SECRET` of `apps.0.secret`.
    static func variable(of key: String) -> String {
        prefix + key.uppercased().replacing(".", with: "_")
    }

    private static func path(of name: String) -> [String]? {
        for pattern in ConfigurationSchema.patterns {
            let parts = variable(of: pattern).split(separator: "_N_", maxSplits: 1)
            var position: Substring = ""
            if parts.count == 2 {
                let start = parts[0] + "_"
                let end = "_" + parts[1]
                guard name.hasPrefix(start), name.hasSuffix(end),
                    name.count > start.count + end.count
                else { continue }
                position = name.dropFirst(start.count).dropLast(end.count)
                guard ConfigurationSchema.isPosition(position) else { continue }
            } else if name != variable(of: pattern) {
                continue
            }
            return pattern.split(separator: ".").map { $0 == "N" ? String(position) : String($0) }
        }
        return nil
    }

    private static func proposal(for name: String) -> String {
        let words = name.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
        let variables = ConfigurationSchema.patterns.map {
            variable(of: ConfigurationSchema.key($0, withPositionsOf: words))
        }
        let close = Resemblance.closest(to: name, among: variables, separator: "_")
        if close.isEmpty {
            return ": remove it, or see the example configuration for the keys there are"
        }
        return ": did you mean " + close.joined(separator: " or ") + "?"
    }

    /// Whether Kubernetes or Docker made the variable for a service that is called `fanfare` or `fanfare-…`.
    ///
    /// They set `FANFARE_SERVICE_HOST`, `FANFARE_PORT=tcp://…`, `FANFARE_PORT_6001_TCP_ADDR` and more
    /// for every container beside such a service.
    private static func isServiceLink(_ name: String, _ value: String) -> Bool {
        if name.hasSuffix("_SERVICE_HOST") || name.contains("_SERVICE_PORT") { return true }
        if value.hasPrefix("tcp://") || value.hasPrefix("udp://") { return true }
        let words = name.split(separator: "_").suffix(4)
        return words.count == 4 && words.first == "PORT"
            && ["ADDR", "PORT", "PROTO"].contains(words.last ?? "")
    }
}
