package import ArgumentParser
import FoundationEssentials

/// The broker's address, and the certificates to trust.
package struct BrokerOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "The broker's address (or FANFARE_URL; default http://127.0.0.1:6001).",
            valueName: "url"
        )
    )
    package var url: String?

    @Option(help: ArgumentHelp("Trust the certificates in this PEM file.", valueName: "file"))
    package var trust: String?

    @Flag(help: "Accept any certificate: for development only.")
    package var insecure = false

    package init() {}

    package func validate() throws {
        if trust != nil, insecure { throw ValidationError("Choose --trust or --insecure.") }
    }

    /// The address as given.
    package var text: String {
        variable("FANFARE_URL", over: url, default: "http://127.0.0.1:6001")
    }

    /// The address of the HTTP API, with the scheme http or https.
    package var httpURL: String {
        for (scheme, other) in [("ws://", "http://"), ("wss://", "https://")]
        where text.lowercased().hasPrefix(scheme) {
            return other + text.dropFirst(scheme.count)
        }
        return text
    }
}

/// The app's public key.
package struct AppKey: ParsableArguments, Sendable {
    @Option(name: .customLong("key"), help: "The app's key (or FANFARE_APP_KEY; default app-key).")
    package var option: String?

    package init() {}

    package var key: String {
        variable(
            "FANFARE_APP_KEY",
            over: option,
            default: variable("FANFARE_KEY", over: nil, default: "app-key")
        )
    }
}

/// The app's secret: that of an option, or of a variable, or that of the development app.
///
/// `FANFARE_SECRET` is the variable's earlier name.
package func appSecret(over option: String?) -> String {
    let former = variable("FANFARE_SECRET", over: nil, default: "app-secret")
    return variable("FANFARE_APP_SECRET", over: option, default: former)
}

/// The value of an option, or of an environment variable, or a default.
package func variable(_ name: String, over option: String?, default value: String) -> String {
    if let option { return option }
    let named = ProcessInfo.processInfo.environment[name] ?? ""
    return named.isEmpty ? value : named
}
