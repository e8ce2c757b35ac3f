public import RESP

/// A call of a script: a value that can be sent on any connection, and again after a redirection.
public struct ScriptCall: Sendable {
    /// The script.
    public let script: RedisScript
    /// The command `EVALSHA`.
    public let bytes: [UInt8]

    /// Makes a call; `write` writes `keyCount` keys, and then `argumentCount` further arguments.
    public init(
        _ script: RedisScript,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RESPWriter) -> Void
    ) {
        self.script = script
        var writer = RESPWriter()
        writer.begin(argumentCount: 3 + keyCount + argumentCount)
        writer.argument(literal: "EVALSHA")
        writer.argument(script.digest)
        writer.argument(keyCount)
        write(&writer)
        precondition(writer.isComplete, "the call lacks arguments")
        bytes = writer.bytes
    }

    /// Makes a call of keys and arguments.
    init(_ script: RedisScript, _ keys: [RedisKey], _ arguments: [Argument]) {
        self.init(script, keyCount: keys.count, argumentCount: arguments.count) { writer in
            for key in keys { writer.argument(key) }
            for argument in arguments {
                switch argument {
                case .text(let text): writer.argument(text)
                case .number(let number): writer.argument(number)
                case .bytes(let bytes): writer.argument(bytes)
                }
            }
        }
    }

    /// An argument of a script.
    enum Argument {
        case text(String)
        case number(Int)
        case bytes([UInt8])
    }
}
