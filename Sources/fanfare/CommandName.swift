import ArgumentParser
import BrokerConfiguration
import Primitives

/// The first word of a command line.
enum CommandName {
    /// The mistake in a word that is no command; `nil` for a command, an option, and no word at all.
    ///
    /// - Parameters:
    ///   - arguments: The command line without the program.
    ///   - command: The program.
    /// - Returns: What to type instead.
    static func mistake(
        in arguments: [String],
        of command: any ParsableCommand.Type
    ) -> String? {
        guard let word = arguments.first, !word.hasPrefix("-") else { return nil }
        let names = command.configuration.subcommands.map { $0._commandName } + ["help"]
        guard !names.contains(word) else { return nil }
        let program = command._commandName
        guard let name = Suggestion.closest(to: word, among: names, separator: " ").first else {
            return "\(program): unknown command '\(word.printable)'. "
                + "Run \"\(program) help\" for the list."
        }
        return "\(program): unknown command '\(word.printable)'. "
            + "Did you mean \"\(program) \(name)\"?"
    }
}
