import ArgumentParser
import CommandSupport
import PusherProtocol

/// `fanfare keys`: makes credentials and certificates.
struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make credentials for an app, or a certificate for development.",
        discussion: """
            Examples:
              fanfare keys app
              fanfare keys secret
              fanfare keys certificate
            """,
        subcommands: [KeysApp.self, KeysSecret.self, KeysCertificate.self]
    )
}

/// `fanfare keys app`: makes an app's ID, key and secret.
struct KeysApp: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Make the ID, key and secret of a new app.",
        discussion: """
            Prints YAML for a configuration file; nothing is stored. Clients need the key. Only \
            your backend and the broker may know the secret.

            Examples:
              fanfare keys app
              fanfare keys app --json
            """
    )

    @Flag(help: "Print a JSON object instead of YAML.")
    var json = false

    func run() {
        var randomness = SystemRandomNumberGenerator()
        let credentials = AppCredentials(using: &randomness)
        Console.print(json ? credentials.json : credentials.yaml)
    }
}

/// The credentials of a new app.
struct AppCredentials: Equatable {
    /// Seven digits: official libraries parse the ID as a number.
    let id: String
    /// 80 bits in lower-case hexadecimal digits; public.
    let key: String
    /// 160 bits in lower-case hexadecimal digits, which cannot be guessed.
    let secret: String

    /// Generates random credentials.
    init(using randomness: inout some RandomNumberGenerator) {
        id = String(Int.random(in: 1_000_000...9_999_999, using: &randomness))
        key = Self.digits(20, using: &randomness)
        secret = Self.digits(40, using: &randomness)
    }

    /// The YAML of a new app.
    var yaml: String {
        """
        apps:
          - id: "\(id)"
            key: "\(key)"
            secret: "\(secret)"
        """
    }

    /// The YAML of a further secret, or of a further key and secret, for an existing app.
    func replacementYAML(withKey hasKey: Bool) -> String {
        let names = (hasKey ? ["key: \"\(key)\""] : []) + ["secret: \"\(secret)\""]
        return "    credentials:\n      - " + names.joined(separator: "\n        ")
    }

    /// The credentials as one line of JSON.
    var json: String {
        var json = JSONWriter()
        json.beginObject()
        for (name, value) in [("id", id), ("key", key), ("secret", secret)] {
            json.name(name)
            json.string(value)
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private static func digits(
        _ count: Int,
        using randomness: inout some RandomNumberGenerator
    ) -> String {
        (0..<count)
            .map { _ in String(Int.random(in: 0..<16, using: &randomness), radix: 16) }
            .joined()
    }
}

/// `fanfare keys secret`: makes a new secret for an existing app.
struct KeysSecret: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret",
        abstract: "Make a new secret for an existing app.",
        discussion: """
            Prints YAML to add to the app's configuration; nothing is stored. The broker accepts \
            the new secret beside the old one as soon as the file is saved. When all your backends \
            use the new one, make it the app's secret and remove the old one; signatures made with \
            the old one are then refused.

            Examples:
              fanfare keys secret
              fanfare keys secret --key
            """
    )

    @Flag(help: "Also make a new key; otherwise the secret is for the existing key.")
    var key = false

    func run() {
        var randomness = SystemRandomNumberGenerator()
        let credentials = AppCredentials(using: &randomness)
        Console.print(credentials.replacementYAML(withKey: key))
    }
}
