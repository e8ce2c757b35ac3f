// What a pool of partitions keeps, counted, and what goes beyond its budgets.
extension ScriptRun {
    /// What a message counts beyond its text, in bytes.
    private static var overhead: Int { 32 }

    /// By how much a call has changed what the streams of an app count, and the last limits.
    struct Change {
        var kept, app, limits: ByteString
        var bytes: Int64 = 0
    }

    /// A sum that is above its limit.
    struct Excess {
        var kept, field, oldest: ByteString
        var max: Int64
    }

    /// What a call of `publish` or `open` keeps track of.
    struct Changes {
        var last: Change?
        var ofApps: [Excess] = []
        var ofAll: [Excess] = []
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
        let step: Int64 =
            switch bytes {
            case ..<2_048: 1
            case ..<4_096: 256
            case ..<8_192: 512
            case ..<16_384: 1_024
            default: 2_048
            }
        return bytes < 2_048 ? bytes : (bytes + step - 1) / step * step
    }

    /// Deducts bytes of messages that are removed from a stream; returns the change of what it counts.
    private mutating func deduct(
        _ kept: ByteString,
        _ messages: ByteString,
        _ removed: Int64
    ) -> Int64 {
        let left = add(-removed, to: messages, of: kept)
        if left <= 0 {
            data[hash: kept][messages] = nil
            data[hash: "\(kept):b"][messages] = nil
            data[sorted: "\(kept):o"][messages] = nil
            data[sorted: "\(kept):o:\(app(of: messages))"][messages] = nil
        }
        return counted(max(left, 0)) - counted(left + removed)
    }

    /// Deducts the oldest messages of a stream, which are removed: their number, and their bytes.
    mutating func release(
        _ kept: ByteString,
        _ messages: ByteString,
        _ count: Int,
        _ removed: Int64
    ) {
        let change = deduct(kept, messages, removed)
        if change != 0 {
            _ = add(change, to: app(of: messages), of: kept)
            _ = add(change, to: "", of: kept)
        }
        guard var marks = marks(kept, messages) else { return }
        marks[0] = (marks[0].count + Int64(count), marks[0].bytes + removed)
        while marks.count > 1, marks[1].count <= marks[0].count { marks.remove(at: 1) }
        set(marks, kept, messages)
    }

    /// The marks of a stream: what was removed, then up to some messages, oldest first.
    private func marks(
        _ kept: ByteString,
        _ messages: ByteString
    ) -> [(count: Int64, bytes: Int64)]? {
        data[hash: "\(kept):b"][messages].map { text in
            let numbers = text.parts(text.count, by: " ").dropLast().map { $0.integer ?? 0 }
            return stride(from: 0, to: numbers.count, by: 2).map { (numbers[$0], numbers[$0 + 1]) }
        }
    }

    private mutating func set(
        _ marks: [(count: Int64, bytes: Int64)],
        _ kept: ByteString,
        _ messages: ByteString
    ) {
        data[hash: "\(kept):b"][messages] = marks.reduce("") { text, mark in
            "\(text)\(mark.count) \(mark.bytes) "
        }
    }

    mutating func releaseAll(_ kept: ByteString, _ messages: ByteString) {
        guard let bytes = data[hash: kept][messages]?.integer else { return }
        release(kept, messages, 0, bytes)
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

    /// Removes the oldest messages of a stream beyond a number, up to a mark, and marks the newest; returns the change of
    /// what it counts.
    private mutating func shorten(
        _ kept: ByteString,
        _ messages: ByteString,
        _ total: Int64,
        _ countMax: Int64
    ) -> Int64 {
        var marks = marks(kept, messages) ?? [(0, 0)]
        let former = marks[0]
        let newest = former.count + Int64(data[stream: messages]?.count ?? 0)
        while marks.count > 1, newest - marks[1].count >= countMax { marks.removeFirst() }
        let removed = marks[0]
        set(marks + [(newest, former.bytes + total)], kept, messages)
        guard removed.count != former.count else { return 0 }
        _ = data[stream: messages]?.trim(to: Int(newest - removed.count))
        return deduct(kept, messages, max(removed.bytes - former.bytes, 0))
    }

    mutating func retain(
        _ kept: ByteString,
        _ messages: ByteString,
        _ entry: ByteString,
        _ serial: UInt64,
        _ countMax: Int64,
        _ budgets: ByteString,
        _ changes: inout Changes
    ) {
        let (bytes, app) = (Int64(entry.count + Self.overhead), app(of: messages))
        let total = add(bytes, to: messages, of: kept)
        var difference = counted(total) - counted(total - bytes)
        if total == bytes {
            data[sorted: "\(kept):o"][messages] = time
            data[sorted: "\(kept):o:\(app)"][messages] = time
        }
        let places = countMax > 512 ? (countMax + 63) / 64 : 8
        if Int64(serial) * places % countMax < places {
            difference += shorten(kept, messages, total, countMax)
        }
        guard difference != 0 else { return }
        if changes.last?.kept != kept || changes.last?.app != app {
            addChange(&changes)
            changes.last = Change(kept: kept, app: app, limits: budgets)
        }
        changes.last?.bytes += difference
        changes.last?.limits = budgets
    }

    /// Adds the last change to the sums of the app and of all.
    private mutating func addChange(_ changes: inout Changes) {
        guard let change = changes.last, change.bytes != 0 else { return }
        let kept = change.kept
        let limits = change.limits.parts(3, by: " ").map { $0.integer ?? 0 }
        if add(change.bytes, to: change.app, of: kept) > limits[0] {
            changes.ofApps.append(
                Excess(
                    kept: kept,
                    field: change.app,
                    oldest: "\(kept):o:\(change.app)",
                    max: limits[0]
                )
            )
        }
        if add(change.bytes, to: "", of: kept) > limits[1] {
            changes.ofAll.append(Excess(kept: kept, field: "", oldest: "\(kept):o", max: limits[1]))
        }
    }

    /// Adds what has changed, and keeps the budgets; returns how many messages that has removed.
    mutating func settle(_ changes: inout Changes) -> (ofApps: Int, ofAll: Int) {
        addChange(&changes)
        return (
            changes.ofApps.reduce(0) { $0 + shrink($1.kept, $1.field, $1.oldest, $1.max) },
            changes.ofAll.reduce(0) { $0 + shrink($1.kept, $1.field, $1.oldest, $1.max) }
        )
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
                release(kept, messages, 1, size([entry]))
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
