// Signed-in users.
extension ScriptRun {
    mutating func user() -> RESPValue {
        let (items, connections, announcements) = (keys[0], keys[1], keys[2])
        let (due, termination) = (keys[3], keys[4])
        let (node, user, count, caller) = (arguments[0], arguments[1], number(2), arguments[3])

        if caller != node {
            if isRegistered(items) { return alive(node) }
        } else if !isRegistered(items) {
            return fenced(node)
        }
        let departure: ByteString = "o:\(user)"
        if count > 0 {
            let wasVacant = data[hash: connections].isEmpty
            data[hash: connections][node] = ByteString(count)
            data[set: items].insert("u:\(user)")
            if wasVacant, !data[sorted: due].remove(departure) {
                publish("online \(time)", on: announcements)
            }
        } else {
            let existed = data[hash: connections].removeValue(forKey: node) != nil
            data[set: items].remove("u:\(user)")
            if existed, data[hash: connections].isEmpty {
                data[sorted: due][departure] = time + (caller == node ? 3_000 : 0)
            }
        }
        var terminated = data[string: termination]?.integer ?? 0
        if time - terminated >= 120_000 { terminated = 0 }
        return .array([.integer(sum(connections)), .integer(terminated)])
    }

    func watch() -> RESPValue {
        .array(
            arguments.indices.map { index in
                let isConnected = !data[hash: keys[index + 1]].isEmpty
                let departure: ByteString = "o:\(arguments[index])"
                return .flag(isConnected || data[sorted: keys[0]][departure] != nil)
            }
        )
    }

    mutating func terminate() -> RESPValue {
        data[string: keys[1]] = ByteString(time)
        data.expire(keys[1], after: 120_000)
        publish("terminate \(time)", on: keys[0])
        return .integer(time)
    }

    mutating func offline() -> RESPValue {
        guard takeDue(keys[1], "o:\(arguments[0])") else { return .integer(0) }
        publish("offline \(time)", on: keys[0])
        return .integer(1)
    }
}
