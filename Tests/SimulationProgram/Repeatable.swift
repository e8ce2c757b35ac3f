import Glibc

/// Makes a run of the program one that can be repeated.
enum Repeatable {
    private static var variable: String { "SWIFT_DETERMINISTIC_HASHING" }

    /// Begins the program anew with the same hashes every time, unless it has been begun so.
    ///
    /// Swift draws the seed of all hashes when a process begins, and with it the order of sets and dictionaries.
    static func begin() throws {
        guard getenv(variable) == nil else { return }
        setenv(variable, "1", 1)
        var arguments = CommandLine.arguments.map { strdup($0) }
        arguments.append(nil)
        execv("/proc/self/exe", arguments)
        // Only if that failed: it can be told, and be done by hand.
        throw BeginError()
    }

    /// The program could not be begun anew.
    struct BeginError: Error, CustomStringConvertible {
        var description: String { "Cannot begin anew: set SWIFT_DETERMINISTIC_HASHING=1" }
    }
}
