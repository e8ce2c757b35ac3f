import ArgumentParser

/// The argument of `--app`: the credentials of an app, in one word.
struct AppOption: ExpressibleByArgument, Equatable {
    let id: String
    let key: String
    /// The rest of the word, which may have colons.
    let secret: String

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts.contains("") else { return nil }
        (id, key, secret) = (String(parts[0]), String(parts[1]), String(parts[2]))
    }
}
