// Subscriptions to channels, and their number.
extension ScriptRun {
    /// The keys of a channel's subscriptions.
    struct SubscriptionKeys {
        var epoch: ByteString
        var items: ByteString
        var subscriptions: ByteString
        var occupied: ByteString
        var announcements: ByteString
        var due: ByteString
        var webhooks: ByteString
        var notice: ByteString
    }

    /// The keys of `detach` and `reap`.
    var detachKeys: SubscriptionKeys {
        SubscriptionKeys(
            epoch: keys[0],
            items: keys[1],
            subscriptions: keys[2],
            occupied: keys[3],
            announcements: keys[4],
            due: keys[5],
            webhooks: keys[6],
            notice: keys[7]
        )
    }

    /// Announces and reports the number of subscriptions; one above 100 every 5 s at most.
    mutating func announceCount(
        _ keys: SubscriptionKeys,
        _ flags: ByteString,
        _ channel: ByteString,
        _ total: Int64
    ) {
        guard flags.has("n") || flags.has("s") else { return }
        let item: ByteString = "#:\(channel)"
        if total > 100 {
            if let last = data[string: keys.notice]?.integer, time - last < 5_000 {
                if data[sorted: keys.due][item] == nil {
                    data[sorted: keys.due][item] = last + 5_000
                }
                return
            }
            data[string: keys.notice] = ByteString(time)
            data.expire(keys.notice, after: 5_000)
        } else {
            data.remove(keys.notice)
        }
        data[sorted: keys.due][item] = nil
        if flags.has("n"), total > 0 { publish("0 # - \(time) \(total)", on: keys.announcements) }
        if flags.has("s") { record(keys.epoch, keys.webhooks, "count", channel, ByteString(total)) }
    }

    /// Ends a node's subscriptions; returns the number that is left, and whether the channel became vacant.
    mutating func endSubscriptions(
        _ keys: SubscriptionKeys,
        _ flags: ByteString,
        of node: ByteString,
        to channel: ByteString,
        delay: Int64
    ) -> (Int64, Bool) {
        let existed = data[hash: keys.subscriptions].removeValue(forKey: node) != nil
        data[set: keys.items].remove("c:\(channel)")
        let total = sum(keys.subscriptions)
        guard existed else { return (total, false) }
        let isVacant = data[hash: keys.subscriptions].isEmpty
        if isVacant {
            data[sorted: keys.occupied][channel.parts(2, by: ":")[1]] = nil
            if flags.has("o") { data[sorted: keys.due]["v:\(channel)"] = time + delay }
        }
        announceCount(keys, flags, channel, total)
        return (total, isVacant)
    }

    // MARK: Scripts

    mutating func attach() -> RESPValue {
        let node = arguments[0]
        guard isRegistered(keys[1]) else { return fenced(node) }
        var rest = keys.dropFirst(6)
        func next(_ count: Int) -> [ByteString] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        var attachments: [RESPValue] = []
        for index in stride(from: 1, to: arguments.count, by: 3) {
            let flags = arguments[index + 2]
            let subscriptions = next(2)
            let usesMessages = "trns".unicodeScalars.contains { flags.has($0) }
            let messages = usesMessages ? next(3) : ["", "", ""]
            let cached = flags.has("k") ? next(3) : ["", "", ""]
            let attachKeys = AttachKeys(
                subscriptions: SubscriptionKeys(
                    epoch: keys[0],
                    items: keys[1],
                    subscriptions: subscriptions[0],
                    occupied: subscriptions[1],
                    announcements: messages[1],
                    due: keys[2],
                    webhooks: keys[3],
                    notice: messages[2]
                ),
                messages: messages[0],
                cached: cached[0],
                expiries: cached[1],
                miss: cached[2],
                infos: flags.has("p") ? next(1)[0] : ""
            )
            let (channel, count) = (arguments[index], arguments[index + 1])
            attachments.append(attach(node, to: channel, count, flags, attachKeys))
        }
        return .array([.array(attachments), .integer(data[string: keys[4]]?.integer ?? 0)])
    }

    /// The keys of a channel in `attach`; empty where its flags have no use for them.
    private struct AttachKeys {
        let subscriptions: SubscriptionKeys
        let messages, cached, expiries, miss, infos: ByteString
    }

    private mutating func attach(
        _ node: ByteString,
        to channel: ByteString,
        _ count: ByteString,
        _ flags: ByteString,
        _ keys: AttachKeys
    ) -> RESPValue {
        let name = channel.parts(2, by: ":")[1]
        let former = data[hash: keys.subscriptions.subscriptions]
        data[hash: keys.subscriptions.subscriptions][node] = count
        data[set: keys.subscriptions.items].insert("c:\(channel)")
        if former.isEmpty {
            if flags.has("t") || flags.has("r") {
                let vacant: ByteString = "\(self.keys[5]):v:\(app(of: keys.messages))"
                data[sorted: vacant][keys.messages] = nil
            }
            data[sorted: keys.subscriptions.occupied][name] = 0
            if flags.has("o") {
                arrive(keys.subscriptions, ending: "v:\(channel)", "occupied", channel)
            }
        }
        let total = sum(keys.subscriptions.subscriptions)
        if former[node] != count { announceCount(keys.subscriptions, flags, channel, total) }

        let streamKeys = StreamKeys(
            epoch: keys.subscriptions.epoch,
            messages: keys.messages,
            announcements: keys.subscriptions.announcements,
            due: keys.subscriptions.due,
            kept: self.keys[5]
        )
        var last: EntryStream.ID?
        if flags.has("t") {
            last = openStream(streamKeys)
        } else if flags.has("r") {
            last = newest(keys.messages, keys.subscriptions.epoch)
            if let newest = last, isFull(newest) { last = openStream(streamKeys) }
        }
        let first = last == nil ? nil : data[stream: keys.messages]?.entries.first?.id
        var event: ByteString?
        if flags.has("k") {
            if let expiry = data[sorted: keys.expiries][name], expiry > time {
                event = data[hash: keys.cached][name]
            }
            if event == nil, flags.has("x") { reportMiss(keys, channel) }
        }
        let members = flags.has("p") ? data[hash: keys.infos].sorted { $0.key < $1.key } : []
        return .array([
            .integer(total), .flag(former.isEmpty),
            .bulk(last.map { ByteString($0.description) }),
            .bulk(first.map { ByteString($0.description) }), .bulk(event),
            // Redis has no order here.
            .array(members.flatMap { [.bulk($0.key), .bulk($0.value)] }),
        ])
    }

    /// Reports that a channel has no cached event, once a minute.
    private mutating func reportMiss(_ keys: AttachKeys, _ channel: ByteString) {
        if let last = data[string: keys.miss]?.integer, time - last < 60_000 { return }
        data[string: keys.miss] = ByteString(time)
        data.expire(keys.miss, after: 60_000)
        record(keys.subscriptions.epoch, keys.subscriptions.webhooks, "miss", channel)
    }

    mutating func detach() -> RESPValue {
        let (node, channel, flags) = (arguments[0], arguments[1], arguments[2])
        guard isRegistered(detachKeys.items) else { return fenced(node) }
        guard data[set: keys[8]].isEmpty else {
            return .error("MEMBERS node \(node) has members on channel \(channel)")
        }
        let (total, becameVacant) = endSubscriptions(
            detachKeys,
            flags,
            of: node,
            to: channel,
            delay: Self.departureDelay
        )
        if becameVacant { vacate(keys[9], keys[10], number(3)) }
        return .array([.integer(total), .flag(becameVacant), .integer(forgottenStreams)])
    }

    mutating func count() -> RESPValue {
        let countKeys = SubscriptionKeys(
            epoch: keys[0],
            items: "",
            subscriptions: keys[1],
            occupied: "",
            announcements: keys[2],
            due: keys[3],
            webhooks: keys[4],
            notice: keys[5]
        )
        let (channel, flags) = (arguments[0], arguments[1])
        guard takeDue(countKeys.due, "#:\(channel)") else { return .integer(0) }
        data.remove(countKeys.notice)
        announceCount(countKeys, flags, channel, sum(countKeys.subscriptions))
        return .integer(1)
    }
}
