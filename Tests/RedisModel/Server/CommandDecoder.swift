package import RESP

/// Splits what a client sends into commands.
package struct CommandDecoder: ~Copyable {
    private var parser = RESPParser()
    /// The bytes of the command that is not complete.
    private var received: [UInt8] = []

    package init() {}

    /// Receives bytes.
    ///
    /// - Parameter bytes: Any part of the stream.
    /// - Returns: The commands that are complete, as names and arguments.
    /// - Throws: The rule that the bytes violate.
    package mutating func receive(_ bytes: [UInt8]) throws(RESPError) -> [[ByteString]] {
        let all = received + bytes
        var commands: [[ByteString]] = []
        var index = 0
        while try parser.next(
            in: all.span,
            from: &index,
            { command in
                var arguments: [ByteString] = []
                command.forEach { arguments.append(ByteString($0.copy())) }
                commands.append(arguments)
            }
        ) {}
        received = Array(all[index...])
        return commands
    }
}
