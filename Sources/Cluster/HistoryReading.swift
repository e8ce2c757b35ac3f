import Broker
import PusherProtocol
import RESP
import Redis
import Shard

// Queries for kept messages: any node answers for all, from the channel's stream in Redis.
extension SharedQueries {
    /// Reads messages of a stream whose newest message has this position.
    ///
    /// `known` is the progress, in the order of the query: the last serial, and the number of messages of the last
    /// call; `nil` before the first.
    func readMessages(
        _ query: PendingQuery,
        in newest: StreamPosition,
        behind known: (serial: UInt64, count: Int)? = nil
    ) {
        guard let address = query.query.address else { return }
        var first: UInt64
        var last: UInt64
        var isReversed = false
        // A page is short, so long messages are read in small portions, which grow while the page is not full.
        let portionMax = rules.readCountMax(of: address)
        var countMax = min(portionMax, known.map { $0.count * 2 } ?? max(1, portionMax / 16))
        switch query.query {
        case .history(_, let page, _):
            first = page.after.map { $0 + 1 } ?? 1
            if page.before == 0 { return }
            last = min(newest.serial, page.before.map { $0 - 1 } ?? .max)
            isReversed = page.isNewestFirst
            if let known {
                // A reply without progress would be requested again and again.
                guard known.serial > 0, first...max(first, last) ~= known.serial else { return }
                if isReversed { last = known.serial - 1 } else { first = known.serial + 1 }
            }
            // Times are not indexed, so any number of messages may be outside of them.
            if page.since == nil, page.until == nil {
                countMax = min(countMax, page.limit + 1 - query.messages.count)
            }
        case .trace(_, let serial): (first, last) = (serial, serial)
        case .counts, .users, .cached, .state, .purge, .terminate: return
        }
        guard first <= last, last > 0 else { return }
        let (keys, channel) = keys(of: address)
        var range = [first, last].map {
            StreamPosition(stream: newest.stream, serial: $0).description
        }
        if isReversed { range.reverse() }
        read(
            query,
            .messages(countMax: countMax),
            of: address,
            isReversed ? "XREVRANGE" : "XRANGE",
            keys.messages(channel),
            range[0],
            range[1],
            "COUNT",
            "\(countMax)"
        )
    }

    func readHistory(
        _ reply: borrowing RESPView,
        for query: PendingQuery,
        countMax: Int
    ) {
        guard let address = query.query.address else { return }
        let store = partitions[partitions.index(of: address)].store
        let entries = StoredEntries(reply, from: store, of: partitions)
        if entries.damagedCount > 0 { query.isDamaged = true }
        guard case .history(_, let page, _) = query.query else {
            return query.messages = entries.messages
        }
        let first = max(page.since ?? .min, rules.keptSince(at: address))
        for message in entries.messages
        where message.time >= first && message.time <= page.until ?? .max {
            query.length += message.envelope.byteCount
            let fits = query.messages.isEmpty || query.length <= HistoryQuery.lengthMax
            guard fits, query.messages.count < page.limit else { return query.hasMore = true }
            query.messages.append(message)
        }
        if reply.count == countMax, let lastSerial = entries.lastSerial,
            let newest = query.counts[0].position.flatMap({ StreamPosition($0) })
        {
            readMessages(query, in: newest, behind: (lastSerial, countMax))
        }
    }

    /// Reads the oldest entry of a stream, or of the half that contains the oldest entry that has not expired.
    func readOldest(_ reply: borrowing RESPView, for query: PendingQuery) {
        guard let address = query.query.address else { return }
        let entry = reply.count > 0 ? StreamPosition(reply[0][0]) : nil
        if entry == nil, reply.count > 0 {
            query.isDamaged = true
            refused("the ID of an entry", for: query)
        }
        let time = entry.flatMap { ChannelAnnouncement(reply[0], at: $0)?.time }
        let isTooOld = time.map { $0 < rules.keptSince(at: address) } ?? false
        guard let range = query.oldestRange else {
            query.oldest = entry
            if isTooOld { query.oldestRange = 0..<UInt64.max }
            return
        }
        let middle = range.lowerBound + UInt64(range.count / 2)
        if let entry, isTooOld, range.contains(entry.serial) {
            query.oldestRange = entry.serial + 1..<range.upperBound
        } else {
            if let entry, !isTooOld { query.oldest = entry }
            query.oldestRange = range.lowerBound..<middle
        }
    }

    /// Searches for the oldest message that has not expired, if Redis has not removed all others yet.
    ///
    /// Times grow with serials, so this is a binary search.
    func searchOldest(_ query: PendingQuery) {
        guard let address = query.query.address, var range = query.oldestRange,
            let newest = query.counts.first?.position.flatMap({ StreamPosition($0) })
        else { return }
        if range.upperBound == .max {
            let oldest = query.oldest.flatMap { $0.stream == newest.stream ? $0.serial : nil } ?? 0
            range = oldest + 1..<max(oldest, newest.serial) + 1
            query.oldestRange = range
            query.oldest = nil
        }
        guard !range.isEmpty else { return }
        let (keys, channel) = keys(of: address)
        let middle = range.lowerBound + UInt64(range.count / 2)
        read(
            query,
            .oldest,
            of: address,
            "XRANGE",
            keys.messages(channel),
            StreamPosition(stream: newest.stream, serial: middle).description,
            StreamPosition(stream: newest.stream, serial: range.upperBound - 1).description,
            "COUNT",
            "1"
        )
    }

    /// The serial of the oldest message of a stream that is kept.
    private func oldestSerial(_ oldest: StreamPosition, at position: ChannelPosition) -> UInt64 {
        // An earlier stream still has kept messages, so nothing of this one is gone.
        "\(oldest.stream)" == position.stream.text ? max(1, oldest.serial) : 1
    }

    func finishHistory(_ query: PendingQuery, upTo position: ChannelPosition) {
        query.counts[0].history = HistoryPage(
            position,
            oldest: query.oldest.map { oldestSerial($0, at: position) } ?? position.serial + 1,
            messages: query.messages.map {
                HistoryPage.Message(serial: $0.serial, time: $0.time, text: Array($0.envelope.text))
            },
            hasMore: query.hasMore,
            isDamaged: query.isDamaged
        )
    }

    func finishTrace(
        _ query: PendingQuery,
        of serial: UInt64,
        upTo position: ChannelPosition
    ) {
        let message = query.messages.first
        query.counts[0].trace = TracedMessage(
            ChannelPosition(stream: position.stream, serial: serial),
            last: position.serial,
            time: message.map { $0.time - partitions.context.calendarOffset },
            published: message?.time,
            except: message?.except
        )
    }
}
