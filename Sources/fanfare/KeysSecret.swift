import ArgumentParser

/// `fanfare keys secret`: makes a further secret for an app whose secret is to be replaced.
struct KeysSecret: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret",
        abstract: "Make a secret that replaces that of an app.",
        discussion: """
            Prints it as YAML to paste into the app; nothing is stored, and no two runs print the \
            same. The broker accepts it beside the old one as soon as the file is saved. When all \
            your backends sign with it, make it the app's secret and remove the old one: whatever \
            that has signed is refused from then on.

            Examples:
              fanfare keys secret
              fanfare keys secret --key
            """
    )

    @Flag(help: "Make a new key for it, too; without one it is a secret of the key that is there.")
    var key = false

    func run() {
        var randomness = SystemRandomNumberGenerator()
        let credentials = AppCredentials(using: &randomness)
        Standard.print(credentials.replacementYAML(withKey: key))
    }
}
