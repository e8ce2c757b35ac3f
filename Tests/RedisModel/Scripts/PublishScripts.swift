// Messages: numbered, stored and announced.
extension ScriptRun {
    /// A message, as keys and arguments describe it.
    private struct Message {
        var messages: ByteString
        var announcements: ByteString
        var stream: ByteString
        var lengthMax: Int64
        var budgets: ByteString
        var entry: ByteString
        var idempotency: (key: ByteString, digest: ByteString, age: Int64, keysMax: Int64)?
        var caching: Caching?
        var webhook: (channel: ByteString, body: ByteString)?
        var expected: ByteString?

        struct Caching {
            var events, expiries, miss, name: ByteString
            var lifetime: Int64
            var countMax: Int
        }

        /// Takes the next message's keys and arguments.
        init(_ keys: inout ArraySlice<ByteString>, _ arguments: inout ArraySlice<ByteString>) {
            func key() -> ByteString { keys.popFirst() ?? "" }
            func argument() -> ByteString { arguments.popFirst() ?? "" }
            (messages, announcements) = (key(), key())
            let flags = argument()
            (stream, lengthMax) = (argument(), argument().integer ?? 0)
            (budgets, entry) = (argument(), argument())
            if flags.has("i") {
                idempotency = (
                    key(), argument(), argument().integer ?? 0, argument().integer ?? 0
                )
            }
            if flags.has("k") {
                caching = Caching(
                    events: key(),
                    expiries: key(),
                    miss: key(),
                    name: argument(),
                    lifetime: argument().integer ?? 0,
                    countMax: Int(argument().integer ?? 0)
                )
            }
            if flags.has("w") { webhook = (argument(), argument()) }
            if flags.has("c") { expected = argument() }
        }
    }

    mutating func publish(opens: Bool) -> RESPValue {
        var (keys, arguments) = (keys[...], arguments[...])
        var outcomes: [RESPValue] = []
        var changes = Changes()
        var forgotten = 0
        while let count = arguments.popFirst()?.integer {
            let partition = Array(keys.prefix(5))
            keys = keys.dropFirst(5)
            for _ in 0..<count {
                let message = Message(&keys, &arguments)
                outcomes.append(
                    publish(message, in: partition, opens: opens, &changes, &forgotten)
                )
            }
        }
        let removed = settle(&changes)
        if removed.ofApps + removed.ofAll + forgotten + forgottenStreams + droppedEvents > 0 {
            outcomes.append(
                .array([
                    .integer(removed.ofApps), .integer(removed.ofAll), .integer(forgotten),
                    .integer(forgottenStreams), .integer(droppedEvents),
                ])
            )
        }
        return .array(outcomes)
    }

    private mutating func publish(
        _ message: Message,
        in partition: [ByteString],
        opens: Bool,
        _ changes: inout Changes,
        _ forgotten: inout Int
    ) -> RESPValue {
        let (counter, epoch, due, webhooks) = (
            partition[0], partition[1], partition[2], partition[3]
        )
        let kept = partition[4]
        if let idempotency = message.idempotency, let earlier = data[string: idempotency.key] {
            let parts = earlier.parts(2, by: " ")
            return parts[1] == idempotency.digest
                ? .array([.bulk(parts[0])])
                : .error("CONFLICT the idempotency key belongs to another message")
        }

        // The stream to append to; nil for none.
        var stream: UInt64?
        var isNamed = true
        if opens {
            let streamKeys = StreamKeys(
                epoch: epoch,
                messages: message.messages,
                announcements: message.announcements,
                due: due,
                kept: kept
            )
            let positionsMax = message.budgets.parts(3, by: " ")[2].integer
            (stream, isNamed) = (openStream(streamKeys, positionsMax).stream, false)
        } else if message.stream == "-" {
            if let newest = newest(message.messages, epoch) {
                guard newest.stream > since(epoch), newest.stream <= Self.numberMax else {
                    return .null
                }
                (stream, isNamed) = (newest.stream, false)
            }
        } else if let named = UInt64(message.stream.description) {
            guard named > since(epoch) else { return .null }
            stream = named
        }

        if let expected = message.expected {
            let present = newest(message.messages, epoch).map { ByteString($0.description) } ?? "-"
            guard present == expected else { return .array([.bulk(present), .integer(0)]) }
        }

        var position: EntryStream.ID?
        if let stream {
            guard let place = append(message, in: stream) else { return .null }
            position = place
            retain(
                kept,
                message.messages,
                message.entry,
                place.serial,
                message.lengthMax,
                message.budgets,
                &changes
            )
        } else {
            _ = data.increment(counter, by: 1)
        }
        let serial = position?.serial ?? 0
        let text = position?.description ?? "-"
        let announcement: ByteString = "\(serial) \(message.entry)"
        if let caching = message.caching { cache(announcement, caching) }
        if let idempotency = message.idempotency {
            let remembered: ByteString = "\(kept):k:\(app(of: message.messages))"
            forgotten += remember(remembered, idempotency, at: ByteString(text))
        }
        publish(announcement, on: message.announcements)
        if let webhook = message.webhook {
            record(epoch, webhooks, "client", webhook.channel, webhook.body)
        }
        return isNamed ? .integer(Int64(serial)) : .bulk(ByteString(text))
    }

    /// Appends an entry to a stream; nil if that is not the channel's current one.
    private mutating func append(_ message: Message, in stream: UInt64) -> EntryStream.ID? {
        guard let current = data[stream: message.messages] else { return nil }
        guard stream <= current.lastID.stream else {
            // The caller's stream was lost. The entry is appended and removed again.
            giveBack(message.messages)
            return nil
        }
        guard let id = data[stream: message.messages]?.append(in: stream, message.entry) else {
            return nil
        }
        guard id.serial <= Self.numberMax else {
            _ = data[stream: message.messages]?.remove(id)
            giveBack(message.messages)
            return nil
        }
        return id
    }

    /// Sets the last ID to that of the last entry, as if the next one had never been given.
    private mutating func giveBack(_ messages: ByteString) {
        if let last = data[stream: messages]?.entries.last {
            data[stream: messages]?.setLastID(last.id)
        } else {
            data.remove(messages)
        }
    }

    private mutating func cache(_ announcement: ByteString, _ caching: Message.Caching) {
        data[hash: caching.events][caching.name] = announcement
        data[sorted: caching.expiries][caching.name] = time + caching.lifetime * 1_000
        data.remove(caching.miss)
        data.expire(caching.events, after: caching.lifetime * 1_000)
        data.expire(caching.expiries, after: caching.lifetime * 1_000)
        while data[sorted: caching.expiries].count > caching.countMax {
            guard let name = data[sorted: caching.expiries].popFirst() else { break }
            data[hash: caching.events][name] = nil
            droppedEvents += 1
        }
    }
}
