/// Reads environment variables into settings.
///
/// A key's variable is its path in capitals, with `_` for the dots: `FANFARE_LISTEN_PORT` sets
/// `listen.port`, `FANFARE_APPS_0_SECRET` the secret of the first app. An empty variable sets nothing.
enum EnvironmentSettings {
    static let prefix = "FANFARE_"

    /// Variables that the command-line program reads itself.
    static let programVariables: Set<String> = [
        "FANFARE_CONFIG", "FANFARE_URL", "FANFARE_METRICS_URL", "FANFARE_MASTER_KEY",
        "FANFARE_APP_ID", "FANFARE_APP_KEY", "FANFARE_APP_SECRET",
        // The earlier names of the last two.
        "FANFARE_KEY", "FANFARE_SECRET",
    ]

    /// Reads the variables that begin with ``prefix``.
    ///
    /// - Parameter environment: All variables of the process.
    /// - Returns: The settings, in the order of the variables' names.
    static func read(_ environment: [String: String]) -> [Setting] {
        variables(in: environment).compactMap { name, value in
            path(of: name).map {
                let value = Setting.Value.text(value, isQuoted: false)
                return Setting(path: $0, value: value, origin: .variable(name))
            }
        }
    }

    /// The variables without a key, which are ignored: another program may use the prefix as well.
    ///
    /// - Parameter environment: All variables of the process.
    /// - Returns: A fault for each, with the variables that have the most similar names.
    static func unknown(in environment: [String: String]) -> [ConfigurationFault] {
        variables(in: environment).filter { path(of: $0.name) == nil }
            .map { name, _ in
                let problem = "stands for no key" + suggestion(for: name)
                return ConfigurationFault(key: "", problem: problem, origin: .variable(name))
            }
    }

    /// The variables that begin with ``prefix`` and belong to no one else, by name.
    private static func variables(
        in environment: [String: String]
    ) -> [(name: String, value: String)] {
        environment.sorted { $0.key < $1.key }
            .filter { name, value in
                name.hasPrefix(prefix) && !programVariables.contains(name) && !value.isEmpty
                    && !isServiceLink(name, value)
            }
            .map { ($0.key, $0.value) }
    }

    /// The variable of a key: `FANFARE_APPS_0_SECRET` for `apps.0.secret`.
    static func variable(of key: String) -> String {
        prefix + key.uppercased().replacing(".", with: "_")
    }

    /// The patterns of all keys, except arbitrary names, which a variable cannot express.
    private static let patterns = ConfigurationKeys.schema.patterns.filter { !$0.hasSuffix(".*") }

    /// The path of a variable's key; `nil` when there is none.
    private static func path(of name: String) -> [String]? {
        for pattern in patterns {
            let parts = pattern.split(separator: ".").map(String.init)
            if let path = path(parts[...], in: name.dropFirst(prefix.count)) { return path }
        }
        return nil
    }

    /// Matches the parts of a pattern with the rest of a variable's name.
    private static func path(_ parts: ArraySlice<String>, in name: Substring) -> [String]? {
        guard let part = parts.first else { return nil }
        let word = part == "N" ? name.prefix { $0 != "_" } : name.prefix(part.count)
        guard part == "N" ? ConfigurationSchema.isPosition(word) : word == part.uppercased() else {
            return nil
        }
        let rest = name.dropFirst(word.count)
        let own = part == "N" ? String(word) : part
        if parts.count == 1 { return rest.isEmpty ? [own] : nil }
        guard rest.first == "_" else { return nil }
        return path(parts.dropFirst(), in: rest.dropFirst()).map { [own] + $0 }
    }

    private static func suggestion(for name: String) -> String {
        let words = name.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
        let variables = patterns.map {
            variable(of: ConfigurationSchema.key($0, withPositionsOf: words))
        }
        let close = Suggestion.closest(to: name, among: variables, separator: "_")
        if close.isEmpty {
            return ": remove it, or see fanfare.example.yaml for all keys"
        }
        return ": did you mean " + close.joined(separator: " or ") + "?"
    }

    /// Whether Kubernetes or Docker set the variable for a service named `fanfare` or `fanfare-…`.
    ///
    /// They set `FANFARE_SERVICE_HOST`, `FANFARE_PORT=tcp://…`, `FANFARE_PORT_6001_TCP_ADDR` and more for the other
    /// containers.
    private static func isServiceLink(_ name: String, _ value: String) -> Bool {
        if name.hasSuffix("_SERVICE_HOST") || name.contains("_SERVICE_PORT") { return true }
        if value.hasPrefix("tcp://") || value.hasPrefix("udp://") { return true }
        let words = name.split(separator: "_").suffix(4)
        return words.count == 4 && words.first == "PORT"
            && ["ADDR", "PORT", "PROTO"].contains(words.last ?? "")
    }
}
