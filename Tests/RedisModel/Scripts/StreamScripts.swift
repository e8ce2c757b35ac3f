// Streams of channels: where messages have their positions.
extension ScriptRun {
    /// A channel's stream, and what is told of its beginning.
    struct StreamKeys {
        var epoch: ByteString
        var messages: ByteString
        var announcements: ByteString
        var due: ByteString
        var kept: ByteString
    }

    /// How long a stream is kept after it was last used.
    private static var lifetime: Int64 { 86_400_000 }

    /// The newest ID of a channel's messages; nil without a stream.
    ///
    /// That of the newest message which is kept, if it is of a stream that goes on. Behind a sealed one, the next may have
    /// begun, and have no messages.
    func newest(_ messages: ByteString, _ epoch: ByteString) -> EntryStream.ID? {
        guard let stream = data[stream: messages] else { return nil }
        if let last = stream.entries.last?.id, last.stream > since(epoch) { return last }
        return stream.lastID
    }

    /// Begins a stream behind the newest one (nil for none), and announces it.
    mutating func beginStream(
        _ keys: StreamKeys,
        after newest: UInt64?,
        _ reason: ByteString,
        following former: EntryStream.ID? = nil
    ) -> UInt64 {
        let forgotten = UInt64(data[hash: keys.kept][":"]?.integer ?? 0)
        let id = max(UInt64(time), since(keys.epoch) + 1, (newest ?? 0) + 1, forgotten + 1)
        let start = EntryStream.ID(id, 0)
        if let former {
            let entry: ByteString = "! - \(time) \(former.description)"
            data[stream: keys.messages]?.append(at: start, entry)
        } else if newest == nil {
            data[stream: keys.messages] = EntryStream(lastID: start)
        } else {
            data[stream: keys.messages]?.setLastID(start)
        }
        // PREFIX:{TAG}:h:APP:CHANNEL
        let channel = keys.messages.parts(4, by: ":")[3]
        let item: ByteString = "t:\(channel)"
        if data[sorted: keys.due][item] == nil { data[sorted: keys.due][item] = time + 60_000 }
        publish("0 ! - \(time) \(id) \(reason)", on: keys.announcements)
        return id
    }

    /// Finds the current stream of a channel, or begins one; returns the place of its last message.
    mutating func openStream(_ keys: StreamKeys, _ positionsMax: Int64? = nil) -> EntryStream.ID {
        var newest = newest(keys.messages, keys.epoch)
        let isDamaged = newest.map { $0.stream > Self.numberMax } ?? false
        if isDamaged {
            releaseAll(keys.kept, keys.messages)
            data.remove(keys.messages)
            newest = nil
        }
        var position = newest ?? EntryStream.ID(0, 0)
        if isDamaged {
            position = EntryStream.ID(beginStream(keys, after: nil, "purge"), 0)
        } else if position.stream > since(keys.epoch), isFull(position) {
            let stream = beginStream(keys, after: position.stream, "full", following: position)
            position = EntryStream.ID(stream, 0)
        } else if position.stream <= since(keys.epoch) {
            if newest == nil { releaseAll(keys.kept, keys.messages) }
            let reason: ByteString = newest == nil ? "first" : "epoch"
            let isWhole = newest.map { $0.stream > base(keys.epoch) ?? .max } ?? false
            let stream = beginStream(
                keys,
                after: newest?.stream,
                reason,
                following: isWhole ? newest : nil
            )
            position = EntryStream.ID(stream, 0)
            if let positionsMax, !isOccupied(keys.messages) {
                vacate(keys.kept, keys.messages, positionsMax)
            }
        }
        data.expire(keys.messages, after: Self.lifetime)
        return position
    }

    /// The largest serial, and ID of a stream.
    static var numberMax: UInt64 { 1 << 53 - 1 }

    /// Whether no message may follow the newest one.
    func isFull(_ newest: EntryStream.ID) -> Bool {
        newest.stream > Self.numberMax || newest.serial >= Self.numberMax
    }

    // MARK: Scripts

    mutating func begin() -> RESPValue {
        let streamKeys = StreamKeys(
            epoch: keys[0],
            messages: keys[1],
            announcements: keys[2],
            due: keys[3],
            kept: keys[4]
        )
        return .bulk(ByteString(openStream(streamKeys, number(0)).description))
    }

    mutating func purge() -> RESPValue {
        let (channel, begins) = (arguments[0], arguments[1] == "1")
        let streamKeys = StreamKeys(
            epoch: keys[0],
            messages: keys[1],
            announcements: keys[2],
            due: keys[3],
            kept: keys[6]
        )
        let name = channel.parts(2, by: ":")[1]
        data[hash: keys[4]][name] = nil
        data[sorted: keys[5]][name] = nil
        var newest = newest(streamKeys.messages, streamKeys.epoch)
        guard newest != nil || begins else { return .null }
        _ = data[stream: streamKeys.messages]?.trim(to: 0)
        if newest != nil { releaseAll(streamKeys.kept, streamKeys.messages) }
        if let stream = newest?.stream, stream > Self.numberMax {
            data.remove(streamKeys.messages)
            newest = nil
        }
        let id = beginStream(streamKeys, after: newest?.stream, "purge")
        if newest == nil, !isOccupied(streamKeys.messages) {
            vacate(streamKeys.kept, streamKeys.messages, number(2))
        }
        data.expire(streamKeys.messages, after: Self.lifetime)
        return .bulk("\(id)-0")
    }

    mutating func positions() -> RESPValue {
        .array(
            [.integer(Int64(since(keys[0])))]
                + keys.dropFirst().map { key in
                    guard let newest = newest(key, keys[0]) else { return .null }
                    data.expire(key, after: Self.lifetime)
                    return .bulk(ByteString(newest.description))
                }
        )
    }

    mutating func trim() -> RESPValue {
        let (messages, subscriptions, due, kept) = (keys[0], keys[1], keys[2], keys[3])
        let (age, interval) = (number(1), number(2))
        let item: ByteString = "t:\(arguments[0])"

        guard takeDue(due, item) else { return .null }
        guard let stream = data[stream: messages] else {
            forgetStream(kept, messages)
            return .integer(0)
        }
        let old = stream.entries.prefix(64).prefix { entry in
            // KIND EXCEPT TIME BODY
            let words = entry.text.parts(4, by: " ")
            return (words.count > 2 ? words[2].integer ?? 0 : 0) < time - age
        }
        for entry in old { _ = data[stream: messages]?.remove(entry.id) }
        if !old.isEmpty { release(kept, messages, old.count, size(old)) }
        let isVacant = data[hash: subscriptions].isEmpty
        if isVacant {
            let vacantSince = data[sorted: "\(kept):v:\(app(of: messages))"][messages]
            if vacantSince == nil { vacate(kept, messages, number(3)) }
            if let vacantSince, vacantSince <= time - age, stream.lastID.serial == 0,
                old.count == stream.count, old.count < 64
            {
                forgetStream(kept, messages)
                return .integer(old.count)
            }
            forgetVacant(kept, messages, number(3))
            if data[stream: messages] == nil { return .integer(old.count) }
        }
        if stream.count > 0 || !isVacant {
            data.expire(messages, after: Self.lifetime)
        }
        data[sorted: due][item] = old.count == 64 ? time : time + interval
        return .integer(old.count)
    }
}
