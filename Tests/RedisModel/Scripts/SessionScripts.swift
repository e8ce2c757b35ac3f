// Sessions of stock clients.
extension ScriptRun {
    /// A stored session.
    private struct Session {
        /// `-` for a parked session, `shared` for one that two clients use; otherwise a connection.
        var owner: ByteString
        /// The connection that is to follow; empty for none.
        var heir: ByteString
        /// A digest of the client's address; empty if it is not known.
        var address: ByteString
        var state: ByteString

        init(
            owner: ByteString,
            heir: ByteString = "",
            address: ByteString = "",
            state: ByteString = ""
        ) {
            (self.owner, self.heir, self.address, self.state) = (owner, heir, address, state)
        }

        init(_ text: ByteString) {
            let lines = text.parts(4, by: "\n")
            self.init(owner: lines[0], heir: lines[1], address: lines[2], state: lines[3])
        }

        var text: ByteString { "\(owner)\n\(heir)\n\(address)\n\(state)" }
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

    private func length(ofAddress address: ByteString) -> Int64 {
        data[hash: keys[0]]["#\(address)"]?.integer ?? 0
    }

    private mutating func count(_ text: ByteString, _ sign: Int64) {
        for address in Set(["", Session(text).address]) {
            let sum = length(ofAddress: address) + sign * Int64(text.count)
            data[hash: keys[0]]["#\(address)"] = sum > 0 ? ByteString(sum) : nil
        }
    }

    private mutating func store(_ session: Session, as name: ByteString, for age: Int64) {
        if let former = data[hash: keys[0]][name] { count(former, -1) }
        count(session.text, 1)
        data[hash: keys[0]][name] = session.text
        data[sorted: keys[1]][name] = time + age
    }

    private mutating func forget(_ name: ByteString) {
        if let value = data[hash: keys[0]][name] { count(value, -1) }
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
            store(Session(owner: "shared", address: found.address), as: name, for: age)
            return reply("shared")
        }
        let isHeirOther = !found.heir.isEmpty && found.heir != me
        var outcome: ByteString = "resumed"
        if found.owner != me, let owner = Connection(found.owner) {
            if owner.node == node, opened < owner.opened { return reply("superseded") }
            if !takes, data[sorted: nodes][owner.node] != nil {
                if isHeirOther { notify(inbox, found.heir, "superseded", name) }
                var awaited = found
                awaited.heir = me
                store(awaited, as: name, for: age)
                notify(inbox, found.owner, "yield", name, " \(arguments[7])")
                return reply("awaited")
            }
            outcome = "checkpoint"
        }
        if isHeirOther { notify(inbox, found.heir, "superseded", name) }
        store(
            Session(owner: me, address: found.address, state: found.state),
            as: name,
            for: age
        )
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
        let (node, name, socket) = (arguments[0], arguments[1], arguments[2])
        let (age, how, address) = (number(4), arguments[5], arguments[8])
        let me: ByteString = "\(node) \(socket) \(arguments[6])"
        let isWhole = fits(arguments[3], name, address)
        let state: ByteString = isWhole ? arguments[3] : ""

        guard let found = data[hash: keys[0]][name].map({ Session($0) }) else {
            guard how != "share" else { return .integer(0) }
            let owner = how == "park" ? "-" : me
            store(Session(owner: owner, address: address, state: state), as: name, for: age)
            return .integer(isWhole ? 3 : 4)
        }
        if how == "share" {
            notify(inbox, found.owner, "shared", name)
            notify(inbox, found.heir, "shared", name)
            store(Session(owner: "shared", address: found.address), as: name, for: age)
            return .integer(1)
        }
        guard found.owner == me else { return .integer(0) }
        if how == "checkpoint" {
            store(
                Session(owner: me, heir: found.heir, address: address, state: state),
                as: name,
                for: age
            )
            return .integer(isWhole ? 1 : 4)
        }
        let owner = found.heir.isEmpty ? "-" : found.heir
        store(Session(owner: owner, address: address, state: state), as: name, for: age)
        notify(inbox, found.heir, "yielded", name, " \(state)")
        guard isWhole else { return .integer(4) }
        return .integer(found.heir.isEmpty ? 1 : 2)
    }

    /// Whether a session may have the state of a call of `park`.
    private func fits(_ state: ByteString, _ name: ByteString, _ address: ByteString) -> Bool {
        let (value, most) = (data[hash: keys[0]][name], number(7))
        let former = Int64(value?.count ?? 0)
        let sum = length(ofAddress: "") - former + Int64(state.count)
        guard sum <= most, !address.isEmpty, sum * 2 > most else { return sum <= most }
        let isOfAddress = value.map { Session($0).address } == address
        let own = length(ofAddress: address) - (isOfAddress ? former : 0)
        return (own + Int64(state.count)) * 4 <= most
    }
}
