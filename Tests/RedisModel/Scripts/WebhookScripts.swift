// Webhooks, and what is due.
extension ScriptRun {
    /// How long a departure waits, in milliseconds.
    static var departureDelay: Int64 { 3_000 }

    /// Appends a webhook to the queue.
    ///
    /// Beyond the limit the oldest is dropped, and counted.
    mutating func record(
        _ epoch: ByteString,
        _ webhooks: ByteString,
        _ kind: ByteString,
        _ channel: ByteString,
        _ rest: ByteString? = nil
    ) {
        // In place: a copy of the queue would cost too much.
        if data[stream: webhooks] == nil { data[stream: webhooks] = EntryStream() }
        if let count = data[stream: webhooks]?.count, count >= webhooksMax {
            let dropped = data[stream: webhooks]?.trim(to: webhooksMax - 1) ?? 0
            let total = (data[hash: epoch]["dropped"]?.integer ?? 0) + Int64(dropped)
            data[hash: epoch]["dropped"] = ByteString(total)
        }
        let text: ByteString = "\(kind) \(time) \(channel)"
        let stream = since(epoch)
        _ = data[stream: webhooks]?.append(in: stream, rest.map { "\(text) \($0)" } ?? text)
    }

    /// Records an arrival, unless it ends a departure that waits.
    mutating func arrive(
        _ epoch: ByteString,
        _ webhooks: ByteString,
        _ due: ByteString,
        ending departure: ByteString,
        _ kind: ByteString,
        _ channel: ByteString,
        _ rest: ByteString? = nil
    ) {
        guard !data[sorted: due].remove(departure) else { return }
        record(epoch, webhooks, kind, channel, rest)
    }

    mutating func arrive(
        _ keys: SubscriptionKeys,
        ending departure: ByteString,
        _ kind: ByteString,
        _ channel: ByteString
    ) {
        arrive(keys.epoch, keys.webhooks, keys.due, ending: departure, kind, channel)
    }

    // MARK: Scripts

    mutating func timers() -> RESPValue {
        let (epoch, leader, due, webhooks) = (keys[0], keys[1], keys[2], keys[3])
        let (node, last) = (arguments[0], EntryStream.ID(arguments[1]) ?? EntryStream.ID(0, 0))

        guard holder(leader) == node else { return .error("NOTLEADER node \(node) does not lead") }
        var others: [RESPValue] = []
        for item in data[sorted: due].members(upTo: time, limit: 64) {
            let parts = item.parts(4, by: ":")
            switch parts[0] {
            case "v":
                record(epoch, webhooks, "vacated", item.dropFirst(2))
                data[sorted: due][item] = nil
            case "m":
                record(epoch, webhooks, "removed", "\(parts[1]):\(parts[2])", parts[3])
                data[sorted: due][item] = nil
            default: others.append(.bulk(item))
            }
        }
        let queue = data[stream: webhooks] ?? EntryStream()
        return .array([
            .array(others),
            .array(
                queue.entries(after: last).prefix(64).flatMap { entry in
                    [.bulk(ByteString(entry.id.description)), .bulk(entry.text)]
                }
            ),
            .integer(queue.count), .integer(data[hash: epoch]["dropped"]?.integer ?? 0),
        ])
    }

    mutating func settle() -> RESPValue {
        let (webhooks, dead) = (keys[0], keys[1])
        var removed = 0
        for index in stride(from: 0, to: arguments.count, by: 2) {
            guard let id = EntryStream.ID(arguments[index + 1]) else { continue }
            if arguments[index] == "x",
                let entry = data[stream: webhooks]?.entries(from: id, to: id).first
            {
                putAway(entry, in: dead)
            }
            if data[stream: webhooks]?.remove(id) == true { removed += 1 }
        }
        return .integer(removed)
    }

    private mutating func putAway(_ entry: EntryStream.Entry, in dead: ByteString) {
        if data[stream: dead] == nil { data[stream: dead] = EntryStream() }
        let time = time
        data[stream: dead]?.append(at: time, "\(entry.id.description) \(entry.text)")
        _ = data[stream: dead]?.trim(to: 1_000)
    }
}
