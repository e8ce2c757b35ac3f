import Digests

// Scripts: loaded and called.
extension ModelServer {
    mutating func load(_ source: ByteString) -> RESPValue {
        let digest = Hex.encode(Digest.sha1(source.bytes.span))
        do {
            if loaded[digest] == nil {
                let script = try Script(editedScripts[digest] ?? source)
                try ownInterpreter().compile(script, digest)
                loaded[digest] = script
            }
            return .bulk(ByteString(digest))
        } catch {
            return .error(error.text)
        }
    }

    /// Forgets all scripts.
    mutating func flushScripts() -> RESPValue {
        (loaded, interpreter) = ([:], nil)
        return .ok
    }

    /// The interpreter of this server: a copy of the server makes another one.
    private mutating func ownInterpreter() -> ScriptInterpreter {
        if isKnownUniquelyReferenced(&interpreter), let interpreter { return interpreter }
        let made = ScriptInterpreter()
        interpreter = made
        return made
    }

    /// Calls a script: digest, number of keys, keys, arguments.
    mutating func evaluate(_ arguments: [ByteString]) -> RESPValue {
        guard arguments.count >= 2, let keyCount = arguments[1].integer, keyCount >= 0,
            Int(keyCount) <= arguments.count - 2
        else { return .error("ERR Number of keys can't be greater than number of args") }
        let digest = arguments[0].description
        guard let script = loaded[digest] else {
            return .error("NOSCRIPT No matching script. Please use EVAL.")
        }
        if let error = refusal(allowsOutOfMemory: script.allowsOutOfMemory) { return error }
        let interpreter = ownInterpreter()
        // Of a copy, it is another one.
        do { try interpreter.compile(script, digest) } catch { return .error(error.text) }
        effects = []
        let rest = arguments.dropFirst(2)
        let reply = withUnsafeMutablePointer(to: &self) { server in
            interpreter.run(
                digest,
                rest.prefix(Int(keyCount)),
                rest.dropFirst(Int(keyCount)),
                on: server
            )
        }
        append(effects)
        return reply
    }

    /// Executes a command of the script that runs, whose effects replicas get together.
    mutating func call(_ command: [ByteString]) -> RESPValue {
        let (name, arguments) = ("\(command[0])", Array(command.dropFirst()))
        switch name {
        case "TIME": return timeReply
        case "PUBLISH" where arguments.count == 2, "SPUBLISH" where arguments.count == 2:
            let isSharded = name == "SPUBLISH"
            return .integer(publish(arguments[1], on: arguments[0], isSharded: isSharded))
        default: break
        }
        guard let access = DataCommand.all[name] else {
            return .error("ERR Unknown Redis command called from script")
        }
        guard arguments.count >= access.argumentCountMin else {
            return .error("ERR Wrong number of args calling Redis command from script")
        }
        let reply = access.body(&data, arguments)
        if access.isReplicated, !reply.isError { effects.append(command) }
        // RESP2 has no pairs.
        return arguments.last == "WITHSCORES"
            ? .array(reply.elements.flatMap(\.elements)) : reply
    }

    /// Why a write is refused; nil if it is not.
    func refusal(allowsOutOfMemory: Bool) -> RESPValue? {
        guard identity.isPrimary else {
            return .error("READONLY You can't write against a read only replica.")
        }
        guard let refusal, !(allowsOutOfMemory && refusal == .outOfMemory) else { return nil }
        return .error(ByteString(refusal.rawValue))
    }
}
