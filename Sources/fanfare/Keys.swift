import ArgumentParser

/// `fanfare keys`: makes what has to be secret.
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
