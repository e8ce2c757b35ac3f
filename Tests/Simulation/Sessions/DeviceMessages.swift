import PusherProtocol

/// What devices send, and how they process what they receive.
extension SessionWorld {
    private static var mask: UInt32 { 0x5A17_93C5 }

    // MARK: - Sending

    func subscribe(_ device: Device, _ channel: Int) {
        guard let connection = device.connection, let socketID = connection.socketID,
            connection.subscriptions[channel] == nil, !connection.leaving.contains(channel)
        else { return }
        let name = SessionScenario.channels[channel]
        let isRefused =
            SessionScenario.needsSignature(channel) && connection.refusals[channel] == nil
            && random.happens(15)
        let isTampered = variant == .resumeWithoutAuthorization && device.books[channel] != nil
        var members = #""channel":"\#(name)""#
        if SessionScenario.needsSignature(channel) {
            let secret = isRefused && !isTampered ? Scenario.foreignSecret : Scenario.secrets[0]
            members +=
                #","auth":"\#(Scenario.keys[0]):\#(sign("\(socketID):\(name)", with: secret))""#
        }
        send("pusher:subscribe", members, on: connection)
        if isRefused {
            connection.refusals[channel, default: 0] += 1
        } else {
            connection.subscriptions[channel] = false
            if let left = connection.left[channel], !isForgotten(left.time), !device.sharesToken,
                !connection.isWithoutRecovery
            {
                device.books[channel] = left.book
            }
            device.firstAskedAt[channel] = device.firstAskedAt[channel] ?? now
            if device.socketIDs.last?.id != socketID { device.socketIDs.append((socketID, false)) }
        }
    }

    func unsubscribe(_ device: Device, _ channel: Int) {
        guard let connection = device.connection, connection.subscriptions[channel] == true else {
            return
        }
        send(
            "pusher:unsubscribe",
            #""channel":"\#(SessionScenario.channels[channel])""#,
            on: connection
        )
        send("pusher:ping", "", on: connection)
        connection.subscriptions[channel] = nil
        connection.answered[channel] = nil
        connection.lastSerial[channel] = nil
        connection.leaving.append(channel)
        connection.left[channel] = device.books[channel].map { ($0, now) }
        device.books[channel] = nil
    }

    /// Whether the position of a channel that was left at a time may be forgotten by now.
    private func isForgotten(_ time: Int) -> Bool {
        now - time >= SessionScenario.resubscribeGrace * 1_000
    }

    private func send(_ event: String, _ members: String, on connection: DeviceConnection) {
        connection.transport.send(#"{"event":"\#(event)","data":{\#(members)}}"#, mask: Self.mask)
    }

    // MARK: - The network layer

    /// Transfers up to `count` bytes each way; what is received waits for the page.
    func transfer(_ device: Device, _ count: Int) throws -> Int {
        guard let connection = device.connection, !connection.isStalled else { return 0 }
        if variant == .confirmedAtWriting { send("pusher:pong", "", on: connection) }
        let pushed = connection.transport.pipe.push(count)
        let (read, frames) = try connection.transport.read(count)
        for frame in frames {
            if case .ping(let payload) = frame {
                connection.transport.answer(payload, mask: Self.mask)
            } else {
                let place = variant?.place(of: frame, among: connection.waiting)
                connection.waiting.insert(frame, at: place ?? connection.waiting.count)
            }
        }
        if device.kind == .native { _ = try process(device, .max) }
        if connection.transport.pipe.hasEnded, connection.waiting.isEmpty {
            connection.transport.pipe.close()
            if device.connection === connection { device.connection = nil }
        }
        // Unsolicited pongs are no progress.
        return variant == .confirmedAtWriting ? read : pushed + read
    }

    /// A native client's old socket answers pings while it drops what it reads.
    func transferAbandoned(_ connection: DeviceConnection) -> Int {
        guard !connection.isDead, let (count, frames) = try? connection.transport.read(.max) else {
            return 0
        }
        for case .ping(let payload) in frames {
            connection.transport.answer(payload, mask: Self.mask)
        }
        return count + connection.transport.pipe.push(.max)
    }

    // MARK: - The page

    /// Processes up to `count` messages, unless the page's thread is busy.
    func process(_ device: Device, _ count: Int) throws -> Int {
        guard let connection = device.connection, !connection.isBlocked else { return 0 }
        var processed = 0
        while processed < count, device.connection === connection, !connection.waiting.isEmpty {
            let frame = connection.waiting.removeFirst()
            processed += 1
            processedCount += 1
            trace.record { "    \(device.name) processes \(frame)" }
            switch frame {
            case .message(let message): try receive(message, device, connection)
            case .ping, .pong: break
            case .close(let code):
                // 4201: a superseded connection that seemed dead. 4100: one that reads too slowly.
                reach(.close(code ?? 0))
                guard code == 4201 || code == 4100 else {
                    throw device.broken(.closing, "was closed with \(code ?? 0)")
                }
                connection.transport.pipe.close()
                device.connection = nil
            }
        }
        return processed
    }

    private func receive(
        _ message: ServerMessage,
        _ device: Device,
        _ connection: DeviceConnection
    ) throws {
        switch message {
        case .connectionEstablished(let id, _, _):
            connection.socketID = id.description
            // As stock clients do. The authorization of some channels takes long, or fails at first.
            for channel in device.books.keys.sorted() where random.happens(85) {
                subscribe(device, channel)
            }
        case .ping:
            guard device.kind == .page, variant != .confirmedByPongFrames else { return }
            send("pusher:pong", "", on: connection)
            for (channel, book) in device.books where connection.subscriptions[channel] == true {
                connection.answered[channel] = confirmed(book, of: channel, by: connection)
            }
            connection.answeredMark = processedCount
            reach(.confirmation)
        case .pong:
            guard !connection.leaving.isEmpty else { break }
            let channel = connection.leaving.removeFirst()
            // Pages return at once when a part of them is drawn anew.
            if random.happens(60) { subscribe(device, channel) }
        case .subscriptionSucceeded(let channel, let data):
            try receive(grant: data, of: try index(channel), device, connection)
        case .subscriptionError(let channel, _, _, _):
            let channel = try index(channel)
            guard let count = connection.refusals[channel], count > 0 else {
                throw device.broken(.answers, "was refused \(channel)")
            }
            connection.refusals[channel] = count - 1
            if device.books[channel] != nil, random.happens(50) { subscribe(device, channel) }
        case .event(let event):
            let channel = try index(event.channel ?? "")
            guard !connection.leaving.contains(channel) else { return }
            guard connection.subscriptions[channel] == true else {
                throw device.broken(.audience, "received \(event.name) on \(channel)")
            }
            if event.name == "pusher:gap" {
                try receive(gap: event.data ?? "", of: channel, device, connection)
            } else {
                try receive(event, of: channel, device, connection)
            }
        case .cacheMiss: break
        case .error(nil, let text) where text.hasPrefix("Two clients use one session token"):
            try receiveShared(device, connection)
        case .error(nil, let text) where text.contains("this connection has no recovery"):
            connection.isWithoutRecovery = true
        case .error(let code, _):
            guard code == nil || code == .pongNotReceived || code == .overCapacity else {
                throw device.broken(.answers, "received error \(code?.rawValue ?? 0)")
            }
        default: break
        }
    }

    /// The events of a channel that a `pusher:pong` of this moment confirms.
    ///
    /// Not all that an earlier connection has got: the rest of them may follow in the same replay.
    private func confirmed(
        _ book: Device.Book,
        of channel: Int,
        by connection: DeviceConnection
    ) -> Set<Int> {
        guard let last = connection.lastSerial[channel] else {
            return connection.replayCounts[channel] == 0 ? book.received : []
        }
        return book.received.filter { serials[$0].map { $0 <= last } ?? true }
    }

    private func index(_ channel: String) throws -> Int {
        guard let index = SessionScenario.channels.firstIndex(of: channel) else {
            throw Violation(.audience, "there is no channel \(channel)")
        }
        return index
    }

    private func receive(
        grant data: String,
        of channel: Int,
        _ device: Device,
        _ connection: DeviceConnection
    ) throws {
        guard connection.subscriptions[channel] == false else {
            if connection.leaving.contains(channel) { return }
            throw device.broken(.authorisation, "was granted \(channel), without permission")
        }
        connection.subscriptions[channel] = true
        if let last = device.socketIDs.indices.last { device.socketIDs[last].isCertain = true }
        if !connection.hasClaimed { claimed(device, connection) }
        device.contactAt = now
        let isRecovered = data.contains(#""recovered":true"#)
        if isRecovered, resumesNothing(device, connection) {
            throw device.broken(.answers, "was resumed on \(channel), and shares its token")
        }
        if let left = connection.left.removeValue(forKey: channel), !isRecovered,
            isForgotten(left.time)
        {
            // Between request and answer.
            device.books[channel] = nil
        }
        connection.replayCounts[channel] =
            data.firstMatch(of: /"replay":(\d+)/).flatMap { Int($0.1) }
        if device.books[channel] == nil {
            let askedAt = device.firstAskedAt[channel] ?? now
            var book = Device.Book(beganAt: step, certainAt: askedAt)
            book.lacksOpening =
                channel == SessionScenario.cacheChannel && isCached && !isRecovered
                && !device.sharesToken
            // A cursor may have outlived an unsubscription that the broker has not read.
            book.lacksGap = device.isCertainlyUnknown && !device.sharesToken && !isRecovered
            device.books[channel] = book
            reach(.tracked)
        } else if isRecovered {
            reach(data.contains(#""replay":0"#) ? .recoveredNothing : .recovered)
        } else if device.mayBeUnknown {
            // The gap follows. If it is not processed, it is told again to a session that is known by then.
            device.books[channel]?.gapMark = processedCount
        }
    }

    /// Whether the cache channel certainly had an event when a page that now begins there was acknowledged.
    private var isCached: Bool {
        events.contains {
            $0.channel == SessionScenario.cacheChannel && $0.isAccepted && settledCount > $0.id
                && $0.id >= uncachedCount
        }
    }

    private func receive(
        _ event: ReceivedEvent,
        of channel: Int,
        _ device: Device,
        _ connection: DeviceConnection
    ) throws {
        guard let id = event.data.flatMap({ Int($0.prefix { $0 != ":" }) }), id < events.count,
            events[id].channel == channel
        else { throw device.broken(.content, "received \(event.data ?? "nothing")") }
        device.contactAt = now
        connection.eventCount += 1
        device.books[channel]?.lacksOpening = false
        guard let serial = event.serial else {
            // A cached event; or the channel has no stream, since nobody follows it whose position is kept.
            if connection.isShared || connection.isWithoutRecovery {
                device.books[channel]?.received.insert(id)
            }
            return
        }
        let name = SessionScenario.channels[channel]
        if let other = serials[id], other != serial {
            throw device.broken(.serials, "found event \(id) with \(other) and \(serial)")
        }
        serials[id] = serial
        if let last = connection.lastSerial[channel], serial <= last {
            throw device.broken(.repeats, "got number \(serial) on \(name) behind \(last)")
        }
        connection.lastSerial[channel] = serial
        // An event that excludes a connection of which the end came first reaches the next one, unless it is replayed.
        let isReplayed = connection.replayCounts[channel] ?? 0 > 0
        if isReplayed { connection.replayCounts[channel]? -= 1 }
        let isForOthers =
            events[id].excluded == connection.socketID && connection.socketID != nil
            || isReplayed && !device.sharesToken && device.isCertainlyExcluded(from: events[id])
        guard !isForOthers else {
            throw device.broken(.exclusion, "received event \(id) on \(name)")
        }
        guard let book = device.books[channel] else { return }
        guard !book.certain.contains(id) || device.sharesToken else {
            throw device.broken(.repeats, "got event \(id) on \(name) again, and had confirmed it")
        }
        reach(book.received.contains(id) ? .repeated : .event)
        device.books[channel]?.received.insert(id)
    }
}
