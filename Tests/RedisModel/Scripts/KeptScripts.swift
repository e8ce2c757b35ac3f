// What a pool of partitions keeps, counted, and what goes beyond its budgets.
extension ScriptRun {
    /// What a message counts beyond its text, in bytes.
    private static var overhead: Int { 32 }

    /// What a call has appended: bytes by app, with the app's limit, and the limit of all.
    struct Appended {
        var apps: [ByteString: (bytes: Int64, max: Int64)] = [:]
        var bytes: Int64 = 0
        var max: Int64 = 0
    }

    // PREFIX:{TAG}:h:APP:CHANNEL
    func app(of messages: ByteString) -> ByteString { messages.parts(5, by: ":")[3] }

    private func vacant(_ kept: ByteString, _ messages: ByteString) -> ByteString {
        "\(kept):v:\(app(of: messages))"
    }

    /// The size of entries, of which one at place 0 is no message.
    func size(_ entries: some Sequence<EntryStream.Entry>) -> Int64 {
        entries.reduce(0) { sum, entry in
            sum + (entry.id.serial == 0 ? 0 : Int64(entry.text.count + Self.overhead))
        }
    }

    /// Adds to a number of a hash; returns the sum.
    private mutating func add(_ number: Int64, to field: ByteString, of key: ByteString) -> Int64 {
        let sum = (data[hash: key][field]?.integer ?? 0) + number
        data[hash: key][field] = ByteString(sum)
        return sum
    }

    /// What the bytes of a stream count for its app and for all.
    private func counted(_ bytes: Int64) -> Int64 {
        bytes < 16_384 ? bytes : (bytes + 2_047) / 2_048 * 2_048
    }

    /// Deducts bytes of messages that are removed from a stream.
    mutating func release(_ kept: ByteString, _ messages: ByteString, _ removed: Int64) {
        let app = app(of: messages)
        let left = add(-removed, to: messages, of: kept)
        if left <= 0 {
            data[hash: kept][messages] = nil
            data[sorted: "\(kept):o"][messages] = nil
            data[sorted: "\(kept):o:\(app)"][messages] = nil
        }
        let change = counted(max(left, 0)) - counted(left + removed)
        guard change != 0 else { return }
        _ = add(change, to: app, of: kept)
        _ = add(change, to: "", of: kept)
    }

    mutating func releaseAll(_ kept: ByteString, _ messages: ByteString) {
        guard let bytes = data[hash: kept][messages]?.integer else { return }
        release(kept, messages, bytes)
    }

    mutating func forgetStream(_ kept: ByteString, _ messages: ByteString) {
        releaseAll(kept, messages)
        data[sorted: vacant(kept, messages)][messages] = nil
        guard let stream = data[stream: messages]?.lastID.stream else { return }
        if Int64(stream) > data[hash: kept][":"]?.integer ?? 0 {
            data[hash: kept][":"] = ByteString(stream)
        }
        data.remove(messages)
    }

    /// Whether the channel of a stream has subscriptions.
    func isOccupied(_ messages: ByteString) -> Bool {
        var parts = messages.parts(4, by: ":")
        parts[2] = "n"
        return !data[hash: "\(parts[0]):\(parts[1]):\(parts[2]):\(parts[3])"].isEmpty
    }

    mutating func vacate(_ kept: ByteString, _ messages: ByteString, _ countMax: Int64) {
        guard data[stream: messages] != nil else { return }
        data[sorted: vacant(kept, messages)][messages] = time
        forgetVacant(kept, messages, countMax)
    }

    mutating func forgetVacant(_ kept: ByteString, _ messages: ByteString, _ countMax: Int64) {
        let vacant = vacant(kept, messages)
        for _ in 0..<max(0, min(Int64(data[sorted: vacant].count) - countMax, 64)) {
            guard let oldest = data[sorted: vacant].popFirst() else { break }
            guard !isOccupied(oldest) else { continue }
            forgetStream(kept, oldest)
            forgottenStreams += 1
        }
    }

    func uses() -> RESPValue {
        let kept = keys[0]
        func number(_ field: ByteString) -> Int64 { data[hash: kept][field]?.integer ?? 0 }
        return .array(
            [.integer(number(""))]
                + arguments.flatMap { app -> [RESPValue] in
                    [
                        .integer(number(app)), .integer(data[sorted: "\(kept):v:\(app)"].count),
                        .integer(data[sorted: "\(kept):k:\(app)"].count),
                    ]
                }
        )
    }

    // MARK: Messages

    mutating func shorten(
        _ kept: ByteString,
        _ messages: ByteString,
        _ serial: UInt64,
        _ countMax: Int
    ) {
        let margin = max(1, min(countMax / 8, 64))
        guard serial % UInt64(margin) == 0, let stream = data[stream: messages],
            stream.count > countMax
        else { return }
        let oldest = stream.entries.prefix(min(stream.count - countMax, 512))
        _ = data[stream: messages]?.trim(to: stream.count - oldest.count)
        release(kept, messages, size(oldest))
    }

    mutating func retain(
        _ kept: ByteString,
        _ messages: ByteString,
        _ entry: ByteString,
        _ budgets: ByteString,
        _ appended: inout [ByteString: Appended]
    ) {
        let (bytes, app) = (Int64(entry.count + Self.overhead), app(of: messages))
        let total = add(bytes, to: messages, of: kept)
        let change = counted(total) - counted(total - bytes)
        guard change != 0 else { return }
        if total == bytes {
            data[sorted: "\(kept):o"][messages] = time
            data[sorted: "\(kept):o:\(app)"][messages] = time
        }
        let limits = budgets.parts(3, by: " ").map { $0.integer ?? 0 }
        var pool = appended[kept] ?? Appended()
        pool.apps[app] = ((pool.apps[app]?.bytes ?? 0) + change, limits[0])
        pool.bytes += change
        pool.max = limits[1]
        appended[kept] = pool
    }

    /// Counts what was appended, and keeps the budgets; returns how many messages that has removed.
    mutating func settleBudgets(_ appended: [ByteString: Appended]) -> (ofApps: Int, ofAll: Int) {
        var removed = (ofApps: 0, ofAll: 0)
        for (kept, pool) in appended {
            for (app, added) in pool.apps { _ = add(added.bytes, to: app, of: kept) }
            _ = add(pool.bytes, to: "", of: kept)
            for (app, added) in pool.apps {
                removed.ofApps += shrink(kept, app, "\(kept):o:\(app)", added.max)
            }
            removed.ofAll += shrink(kept, "", "\(kept):o", pool.max)
        }
        return removed
    }

    private mutating func shrink(
        _ kept: ByteString,
        _ field: ByteString,
        _ oldest: ByteString,
        _ max: Int64
    ) -> Int {
        var removed = 0
        for _ in 0..<1_024 {
            let total = data[hash: kept][field]?.integer ?? 0
            guard max > 0, total > max, let first = data[sorted: oldest].entries.first else {
                break
            }
            let messages = first.member
            guard let entry = data[stream: messages]?.entries.first else {
                releaseAll(kept, messages)
                continue
            }
            let time = entry.text.parts(4, by: " ")[2].integer ?? 0
            if time > first.score {
                data[sorted: "\(kept):o"][messages] = time
                data[sorted: "\(kept):o:\(app(of: messages))"][messages] = time
            } else {
                _ = data[stream: messages]?.remove(entry.id)
                release(kept, messages, size([entry]))
                removed += 1
            }
        }
        return removed
    }

    /// Remembers an idempotency key; returns how many others are forgotten for it.
    mutating func remember(
        _ remembered: ByteString,
        _ idempotency: (key: ByteString, digest: ByteString, age: Int64, keysMax: Int64),
        at position: ByteString
    ) -> Int {
        data[string: idempotency.key] = "\(position) \(idempotency.digest)"
        data.expire(idempotency.key, after: idempotency.age * 1_000)
        while let oldest = data[sorted: remembered].entries.first,
            oldest.score <= time - idempotency.age * 1_000
        { _ = data[sorted: remembered].popFirst() }
        data[sorted: remembered][idempotency.key] = time
        data.expire(remembered, after: idempotency.age * 1_000)
        let excess = max(0, min(data[sorted: remembered].count - Int(idempotency.keysMax), 64))
        for _ in 0..<excess {
            if let key = data[sorted: remembered].popFirst() { data.remove(key) }
        }
        return excess
    }
}
