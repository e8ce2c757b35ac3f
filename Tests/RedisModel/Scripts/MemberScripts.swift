// Members of presence channels.
extension ScriptRun {
    /// The keys of a channel's members.
    struct MemberKeys {
        var announcements: ByteString
        var due: ByteString
        /// The users of one node.
        var users: ByteString
        /// On how many nodes each member is.
        var members: ByteString
        var infos: ByteString
    }

    /// Takes one node from a user, who is a member on it; returns whether it was the last one.
    mutating func endMembership(
        _ keys: MemberKeys,
        _ flags: ByteString,
        of user: ByteString,
        on channel: ByteString,
        delay: Int64
    ) -> Bool {
        let nodes = (data[hash: keys.members][user]?.integer ?? 0) - 1
        guard nodes <= 0 else {
            data[hash: keys.members][user] = ByteString(nodes)
            return false
        }
        data[hash: keys.members][user] = nil
        data[hash: keys.infos][user] = nil
        publish("0 - - \(time) \(user)", on: keys.announcements)
        if flags.has("j") { data[sorted: keys.due]["m:\(channel):\(user)"] = time + delay }
        return true
    }

    // MARK: Scripts

    mutating func join() -> RESPValue {
        let (epoch, items, subscriptions, webhooks) = (keys[0], keys[1], keys[2], keys[5])
        let memberKeys = MemberKeys(
            announcements: keys[3],
            due: keys[4],
            users: keys[6],
            members: keys[7],
            infos: keys[8]
        )
        let (node, channel, flags, user, info) = (
            arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]
        )
        guard isRegistered(items) else { return fenced(node) }
        guard data[hash: subscriptions][node] != nil else {
            return .error("DETACHED node \(node) is not attached to channel \(channel)")
        }
        let members = data[hash: memberKeys.members]
        let nodes = members[user]?.integer
        if nodes == nil, members.count >= number(5) {
            return .array([.integer(0), .integer(members.count)])
        }
        guard data[set: memberKeys.users].insert(user).inserted else {
            return .array([.integer(2), .integer(members.count)])
        }
        data[hash: memberKeys.members][user] = ByteString((nodes ?? 0) + 1)
        guard nodes == nil else { return .array([.integer(2), .integer(members.count)]) }
        data[hash: memberKeys.infos][user] = info
        publish("0 + - \(time) \(user.count) \(user)\(info)", on: memberKeys.announcements)
        if flags.has("j") {
            let departure: ByteString = "m:\(channel):\(user)"
            arrive(epoch, webhooks, memberKeys.due, ending: departure, "added", channel, user)
        }
        return .array([.integer(1), .integer(members.count + 1)])
    }

    mutating func leave() -> RESPValue {
        let memberKeys = MemberKeys(
            announcements: keys[1],
            due: keys[2],
            users: keys[3],
            members: keys[4],
            infos: keys[5]
        )
        let (node, channel, flags, user) = (arguments[0], arguments[1], arguments[2], arguments[3])
        guard isRegistered(keys[0]) else { return fenced(node) }
        var outcome = 0
        if data[set: memberKeys.users].remove(user) != nil {
            let delay = Self.departureDelay
            outcome =
                endMembership(memberKeys, flags, of: user, on: channel, delay: delay) ? 1 : 2
        }
        return .array([.integer(outcome), .integer(data[hash: memberKeys.members].count)])
    }

    mutating func reap() -> RESPValue {
        let memberKeys = MemberKeys(
            announcements: keys[4],
            due: keys[5],
            users: keys[8],
            members: keys[11],
            infos: keys[12]
        )
        let (node, channel, flags, caller) = (
            arguments[0], arguments[1], arguments[2], arguments[4]
        )
        if caller != node, isRegistered(keys[1]) { return alive(node) }
        let delay = caller == node ? Self.departureDelay : 0
        // Redis picks any 64.
        let users = data[set: memberKeys.users].sorted().prefix(64)
        data[set: memberKeys.users].subtract(users)
        var gone = 0
        for user in users
        where endMembership(memberKeys, flags, of: user, on: channel, delay: delay) {
            gone += 1
        }
        let hasMore = !data[set: memberKeys.users].isEmpty
        if !hasMore {
            let (_, becameVacant) = endSubscriptions(
                detachKeys,
                flags,
                of: node,
                to: channel,
                delay: delay
            )
            if becameVacant { vacate(keys[9], keys[10], number(3)) }
        }
        return .array([.integer(gone), .flag(hasMore), .integer(forgottenStreams)])
    }
}
