// Sessions of stock clients.
extension ScriptRun {
    /// A stored session.
    private struct Session {
        /// `-` for a parked session, `shared` for one that two clients use; otherwise a connection.
        var owner: ByteString
        /// The connection that is to follow; empty for none.
        var heir: ByteString
        var state: ByteString

        init(owner: ByteString, heir: ByteString = "", state: ByteString = "") {
            (self.owner, self.heir, self.state) = (owner, heir, state)
        }

        init(_ text: ByteString) {
            let lines = text.parts(3, by: "\n")
            self.init(owner: lines[0], heir: lines[1], state: lines[2])
        }

        var text: ByteString { "\(owner)\n\(heir)\n\(state)" }
    }

    /// A connection, `NODE SOCKET OPENED`.
    private struct Connection {
        var node, socket: ByteString
        var opened: Int64

        /// Nil for `-` and `shared`.
        init?(_ text: ByteString) {
            let words = text.parts(3, by: " ")
            guard words.count == 3, let opened = words[2].integer else { return nil }
            (node, socket, self.opened) = (words[0], words[1], opened)
        }
    }

    private mutating func store(_ session: Session, as name: ByteString, for age: Int64) {
        data[hash: keys[0]][name] = session.text
        data[sorted: keys[1]][name] = time + age
    }

    private mutating func forget(_ name: ByteString) {
        data[hash: keys[0]][name] = nil
        data[sorted: keys[1]][name] = nil
    }

    private mutating func notify(
        _ inbox: ByteString,
        _ connection: ByteString,
        _ word: ByteString,
        _ session: ByteString,
        _ rest: ByteString = ""
    ) {
        guard let connection = Connection(connection) else { return }
        publish("\(word) \(session) \(connection.socket)\(rest)", on: "\(inbox):\(connection.node)")
    }

    // MARK: Scripts

    mutating func claim() -> RESPValue {
        let (nodes, inbox) = (keys[2], keys[3])
        let (node, name, socket) = (arguments[0], arguments[1], arguments[2])
        let (opened, age, countMax, takes) = (number(3), number(4), number(5), arguments[6] == "1")
        func reply(
            _ outcome: ByteString,
            _ state: ByteString = "",
            forgotten: Int = 0,
            last: Int64 = 0
        ) -> RESPValue {
            .array([.bulk(outcome), .bulk(state), .integer(forgotten), .integer(last)])
        }

        for expired in data[sorted: keys[1]].members(upTo: time, limit: 16) { forget(expired) }
        if let expiry = data[sorted: keys[1]][name], expiry <= time { forget(name) }
        let me: ByteString = "\(node) \(socket) \(opened)"
        guard let found = data[hash: keys[0]][name].map({ Session($0) }) else {
            let last = data[hash: keys[0]]["!"]?.integer ?? 0
            var forgotten = 0
            while data[sorted: keys[1]].count >= countMax {
                data[hash: keys[0]]["!"] = ByteString(time)
                guard let other = firstWithoutOwner else {
                    return reply("full", forgotten: forgotten, last: last)
                }
                forget(other)
                forgotten += 1
            }
            store(Session(owner: me), as: name, for: age)
            return reply("new", forgotten: forgotten, last: last)
        }
        if found.owner == "shared" {
            store(Session(owner: "shared"), as: name, for: age)
            return reply("shared")
        }
        let isHeirOther = !found.heir.isEmpty && found.heir != me
        var outcome: ByteString = "resumed"
        if found.owner != me, let owner = Connection(found.owner) {
            if owner.node == node, opened < owner.opened { return reply("superseded") }
            if !takes, data[sorted: nodes][owner.node] != nil {
                if isHeirOther { notify(inbox, found.heir, "superseded", name) }
                store(Session(owner: found.owner, heir: me, state: found.state), as: name, for: age)
                notify(inbox, found.owner, "yield", name, " \(arguments[7])")
                return reply("awaited")
            }
            outcome = "checkpoint"
        }
        if isHeirOther { notify(inbox, found.heir, "superseded", name) }
        store(Session(owner: me, state: found.state), as: name, for: age)
        return reply(outcome, found.state)
    }

    /// Among the sessions that expire first, one without an owner; nil if there is none.
    private var firstWithoutOwner: ByteString? {
        data[sorted: keys[1]].entries.prefix(64).map(\.member).first { name in
            data[hash: keys[0]][name].map { Connection(Session($0).owner) == nil } ?? false
        }
    }

    mutating func park() -> RESPValue {
        let inbox = keys[2]
        let (node, name, socket, state) = (arguments[0], arguments[1], arguments[2], arguments[3])
        let (age, how) = (number(4), arguments[5])
        let me: ByteString = "\(node) \(socket) \(arguments[6])"

        guard let found = data[hash: keys[0]][name].map({ Session($0) }) else {
            guard how != "share" else { return .integer(0) }
            store(Session(owner: how == "park" ? "-" : me, state: state), as: name, for: age)
            return .integer(3)
        }
        if how == "share" {
            notify(inbox, found.owner, "shared", name)
            notify(inbox, found.heir, "shared", name)
            store(Session(owner: "shared"), as: name, for: age)
            return .integer(1)
        }
        guard found.owner == me else { return .integer(0) }
        if how == "checkpoint" {
            store(Session(owner: found.owner, heir: found.heir, state: state), as: name, for: age)
            return .integer(1)
        }
        let hasHeir = !found.heir.isEmpty
        store(Session(owner: hasHeir ? found.heir : "-", state: state), as: name, for: age)
        notify(inbox, found.heir, "yielded", name, " \(state)")
        return .integer(hasHeir ? 2 : 1)
    }
}
