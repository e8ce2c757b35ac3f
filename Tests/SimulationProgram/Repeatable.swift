import Glibc

/// Restarts the program with deterministic hashing.
enum Repeatable {
    private static var variable: String { "SWIFT_DETERMINISTIC_HASHING" }

    /// Restarts the program with deterministic hashing, unless it is enabled.
    ///
    /// Swift seeds all hashes at the start of a process, and with them the order of sets and dictionaries.
    static func begin() throws {
        guard getenv(variable) == nil else { return }
        setenv(variable, "1", 1)
        var arguments = CommandLine.arguments.map { strdup($0) }
        arguments.append(nil)
        execv("/proc/self/exe", arguments)
        // Reached only if `execv` failed.
        throw BeginError()
    }

    /// The program could not be restarted.
    struct BeginError: Error, CustomStringConvertible {
        var description: String { "Cannot begin anew: set SWIFT_DETERMINISTIC_HASHING=1" }
    }
}
