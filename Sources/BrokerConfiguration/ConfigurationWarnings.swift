import Broker
internal import Glibc

extension Configuration {
    /// The minimum length of a secret that is not warned of, in bytes.
    private static let secretLengthMin = 16

    /// What a broker runs with, and is probably not meant: each with its key and what to do.
    ///
    /// Asks the file system for the folders of the broker's files.
    ///
    /// - Returns: The warnings.
    public func warnings() -> [ConfigurationFault] {
        secretWarnings() + consoleWarnings() + folderWarnings() + certificateWarnings()
    }

    /// The `FANFARE_…` variables that stand for no key, and are ignored.
    ///
    /// - Parameter environment: The variables of the process.
    /// - Returns: A warning for each, with the nearest variables.
    public static func warnings(of environment: [String: String]) -> [ConfigurationFault] {
        EnvironmentSettings.unknown(in: environment)
    }

    private func secretWarnings() -> [ConfigurationFault] {
        apps.enumerated().flatMap { index, app in
            app.allCredentials.enumerated().compactMap { number, pair in
                let length = pair.secret.utf8.count
                guard length < Self.secretLengthMin,
                    pair.secret != AppConfiguration.development.secret
                else { return nil }
                let part = number == 0 ? "" : "credentials.\(number - 1)."
                return ConfigurationFault(
                    key: "apps.\(index).\(part)secret",
                    problem: "has \(length) characters, and can be guessed: use "
                        + "\(Self.secretLengthMin) or more; \"fanfare keys secret\" makes one"
                )
            }
        }
    }

    private func consoleWarnings() -> [ConfigurationFault] {
        if console.port == nil, console.password != nil {
            return [
                ConfigurationFault(
                    key: "console.password",
                    problem: "is of no use without console.port: set it, as to 6060"
                )
            ]
        }
        let development = AppConfiguration.development
        let hasDevelopmentApp = apps.contains { $0.key == development.key }
        guard hasDevelopmentApp, !apps.areForDevelopment, console.port == nil else { return [] }
        return [
            ConfigurationFault(
                key: "apps",
                problem: "has others beside the development app, so there is no console at / of "
                    + "listen.port: set console.port and console.password for one"
            )
        ]
    }

    private func folderWarnings() -> [ConfigurationFault] {
        let files = [
            ("listen.unix_socket", unixSocket), ("webhooks.database", webhooks.database),
            ("recovery.database", recovery.database), ("recovery.spool", recovery.spool),
        ]
        return files.compactMap { key, path in
            guard let path, let folder = Self.folder(of: path), access(folder, F_OK) != 0 else {
                return nil
            }
            return ConfigurationFault(
                key: key,
                problem:
                    "is \(path), but the folder \(folder) does not exist: make it, writable for "
                    + "the broker's user"
            )
        }
    }

    private static func folder(of path: String) -> String? {
        guard let slash = path.lastIndex(of: "/") else { return nil }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
