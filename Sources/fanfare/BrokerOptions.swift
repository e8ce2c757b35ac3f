import ArgumentParser
import FoundationEssentials

/// Where the broker of a client command is, and whom to trust there.
struct BrokerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The broker's address (or FANFARE_URL; default http://127.0.0.1:6001).",
            valueName: "url"
        )
    )
    var url: String?

    @Option(help: ArgumentHelp("Trust the certificates in this PEM file.", valueName: "file"))
    var trust: String?

    @Flag(help: "Accept any certificate: for development alone.")
    var insecure = false

    func validate() throws {
        if trust != nil, insecure { throw ValidationError("Choose --trust or --insecure.") }
    }

    /// The address as it was given.
    var text: String { variable("FANFARE_URL", over: url, default: "http://127.0.0.1:6001") }

    /// The address for the HTTP API: `ws` and `wss` mean the same broker.
    var httpURL: String {
        for (scheme, other) in [("ws://", "http://"), ("wss://", "https://")]
        where text.lowercased().hasPrefix(scheme) {
            return other + text.dropFirst(scheme.count)
        }
        return text
    }
}

/// The public key of the app to speak for.
struct AppKey: ParsableArguments {
    @Option(name: .customLong("key"), help: "The app's key (or FANFARE_KEY; default app-key).")
    var option: String?

    var key: String { variable("FANFARE_KEY", over: option, default: "app-key") }
}

/// What an option says, or else a variable, or else the development broker's value.
func variable(_ name: String, over option: String?, default value: String) -> String {
    if let option { return option }
    let named = ProcessInfo.processInfo.environment[name] ?? ""
    return named.isEmpty ? value : named
}
