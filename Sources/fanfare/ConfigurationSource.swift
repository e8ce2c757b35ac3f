import ArgumentParser
import BrokerConfiguration
import CommandSupport
import FoundationEssentials

extension [String] {
    /// The first of the hosts that a broker listens on, as in a URL; this machine for one that is every network.
    var reachableName: String {
        let host = first ?? "127.0.0.1"
        if ["0.0.0.0", "::"].contains(host) { return "127.0.0.1" }
        return host.contains(":") ? "[\(host)]" : host
    }
}

/// The source of a command's configuration.
struct ConfigurationSource: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "The configuration file (or the variable FANFARE_CONFIG).",
            valueName: "file"
        )
    )
    var file: String?

    /// The path from the option or the environment; `nil` if neither is set.
    var path: String? {
        if let file { return file }
        let named = ProcessInfo.processInfo.environment["FANFARE_CONFIG"]
        return named?.isEmpty == true ? nil : named
    }

    /// Reads the configuration.
    ///
    /// - Parameters:
    ///   - options: The command-line options, which override all else.
    ///   - sections: The top-level keys that the command uses; faults of others are not its concern.
    /// - Returns: The configuration.
    /// - Throws: All faults of the configuration, or of the sections.
    func read(
        _ options: ConfigurationOptions,
        sections: Set<String>? = nil
    ) throws(ConfigurationError) -> Configuration {
        try Configuration.load(
            file: path,
            environment: ProcessInfo.processInfo.environment,
            options: options,
            sections: sections
        )
    }

    /// Reads the configuration; otherwise prints all faults to standard error and exits with code 1.
    ///
    /// For all sections, it also prints the variables that stand for no key.
    func load(
        _ options: ConfigurationOptions = ConfigurationOptions(),
        sections: Set<String>? = nil
    ) throws -> Configuration {
        if sections == nil {
            for warning in Configuration.warnings(of: ProcessInfo.processInfo.environment) {
                Console.printError("fanfare: ignored: \(warning)")
            }
        }
        do {
            return try read(options, sections: sections)
        } catch {
            let count = error.faults.count
            let faults = count == 1 ? "a fault" : "\(count) faults"
            Console.printError("fanfare: the configuration has \(faults):")
            for fault in error.faults { Console.printError("  \(fault)") }
            throw ExitCode.failure
        }
    }
}
