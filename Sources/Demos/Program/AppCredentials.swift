import ArgumentParser

/// An app's ID, key and secret, written `ID:KEY:SECRET` as the broker's own flag.
struct AppCredentials: ExpressibleByArgument, CustomStringConvertible {
    let id: String
    let key: String
    let secret: String

    /// The app that a broker has when nothing else is said.
    static let development = AppCredentials(id: "1", key: "app-key", secret: "app-secret")

    init(id: String, key: String, secret: String) {
        self.id = id
        self.key = key
        self.secret = secret
    }

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts.contains("") else { return nil }
        self.init(id: String(parts[0]), key: String(parts[1]), secret: String(parts[2]))
    }

    /// For the help text: never the secret of an app that matters.
    var description: String { "\(id):\(key):…" }
}
