import Digests

// Scripts: loaded and called.
extension ModelServer {
    mutating func load(_ source: ByteString) -> RESPValue {
        let digest = Hex.encode(Digest.sha1(source.bytes.span))
        loaded.insert(digest)
        return .bulk(ByteString(digest))
    }

    /// Calls a script: digest, number of keys, keys, arguments.
    mutating func evaluate(_ arguments: [ByteString]) -> RESPValue {
        guard arguments.count >= 2, let keyCount = arguments[1].integer, keyCount >= 0,
            Int(keyCount) <= arguments.count - 2
        else { return .error("ERR Number of keys can't be greater than number of args") }
        let digest = arguments[0].description
        guard loaded.contains(digest) else {
            return .error("NOSCRIPT No matching script. Please use EVAL.")
        }
        guard let name = scripts.names[digest] else {
            return .error("ERR the model has no script \(digest)")
        }
        if let error = refusal(allowsOutOfMemory: !Self.needsMemory.contains(name)) { return error }
        let keys = Array(arguments[2..<(2 + Int(keyCount))])
        let rest = Array(arguments[(2 + Int(keyCount))...])
        // Moved, not copied.
        var run = ScriptRun(
            exchange(&data, with: Keyspace()),
            webhooksMax: scripts.webhooksMax,
            keys: keys,
            arguments: rest
        )
        let reply = run.call(name)
        data = run.data
        for message in run.announcements {
            _ = publish(message.text, on: message.channel, isSharded: scripts.isSharded)
        }
        append(["EVALSHA"] + arguments)
        return reply ?? .error("ERR the model has no script named \(name)")
    }

    /// The scripts without the flag `allow-oom`.
    private static let needsMemory: Set = [
        "publish", "open", "begin", "attach", "join", "claim", "park",
    ]

    /// Why a write is refused; nil if it is not.
    func refusal(allowsOutOfMemory: Bool) -> RESPValue? {
        guard identity.isPrimary else {
            return .error("READONLY You can't write against a read only replica.")
        }
        guard let refusal, !(allowsOutOfMemory && refusal == .outOfMemory) else { return nil }
        return .error(ByteString(refusal.rawValue))
    }
}
