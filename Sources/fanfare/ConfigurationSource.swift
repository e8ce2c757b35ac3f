import ArgumentParser
import FanfareServer
import FoundationEssentials

/// Where a command's configuration comes from, and what it says when that has faults.
struct ConfigurationSource: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "The configuration file (or the variable FANFARE_CONFIG).",
            valueName: "file"
        )
    )
    var file: String?

    /// The file that the option or the environment names; `nil` when neither does.
    var path: String? {
        if let file { return file }
        let named = ProcessInfo.processInfo.environment["FANFARE_CONFIG"]
        return named?.isEmpty == true ? nil : named
    }

    /// Reads the configuration.
    ///
    /// - Parameter options: What the command line says, which overrides all else.
    /// - Returns: A configuration without faults.
    /// - Throws: Every fault.
    func read(_ options: ConfigurationOptions) throws(ConfigurationError) -> Configuration {
        try Configuration.load(
            file: path,
            environment: ProcessInfo.processInfo.environment,
            options: options
        )
    }

    /// Reads the configuration, or lists every fault on standard error and ends with code 1.
    func load(_ options: ConfigurationOptions = ConfigurationOptions()) throws -> Configuration {
        do {
            return try read(options)
        } catch {
            let count = error.faults.count
            let faults = count == 1 ? "a fault" : "\(count) faults"
            Standard.report("fanfare: the configuration has \(faults):")
            for fault in error.faults { Standard.report("  \(fault)") }
            throw ExitCode.failure
        }
    }
}
