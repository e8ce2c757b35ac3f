import FanfareClient

/// What apps do with their leases, and checks of what they have read.
extension LeaseWorld {
    // MARK: - Leases

    /// How a lease begins.
    private enum Start {
        case present, fresh, known, ahead, behind, otherStream
    }

    private static let starts: [(weight: Int, thing: Start)] = [
        (8, .present), (3, .fresh), (2, .known), (4, .ahead), (5, .behind), (2, .otherStream),
    ]

    func beginLease(_ device: LeaseDevice, _ channel: Int) {
        guard device.uses[channel].leases.count < LeaseScenario.leasesMax else { return }
        let (position, isFresh) = chooseStart(device, channel)
        let isLater = device.uses[channel].isHeld
        begin(device, channel, at: position, isFresh: isFresh)
        if isLater, let position { device.uses[channel].moved = position }
        lastLease += 1
        let lease = device.channel(channel).subscription(
            from: isLater && variant == .startIgnored ? nil : position,
            fresh: isFresh && variant != .freshContinues
        )
        trace.record {
            "    \(device.name) begins lease \(lastLease) of \(channel) at "
                + "\(String(describing: position)), fresh \(isFresh)"
        }
        let held = LeaseDevice.Held(number: lastLease, lease: lease, start: position)
        device.uses[channel].leases.append(held)
        // Some apps begin to read later.
        if random.happens(85) { read(device, channel, device.uses[channel].leases.count - 1) }
    }

    func endLease(_ device: LeaseDevice, _ channel: Int) {
        guard !device.uses[channel].leases.isEmpty else { return }
        let index = random.number(device.uses[channel].leases.count)
        let held = device.uses[channel].leases.remove(at: index)
        trace.record { "    \(device.name) ends lease \(held.number) of \(channel)" }
        for book in held.books { book.hasEnded = true }
        held.lease.cancel()
        leave(device, channel)
        // A sequence that is released unread reports that from another thread.
        executor.run()
    }

    /// Another reader of a lease, or its first one.
    func readAgain(_ device: LeaseDevice, _ channel: Int) {
        guard !device.uses[channel].leases.isEmpty else { return }
        read(device, channel, random.number(device.uses[channel].leases.count))
    }

    /// The app subscribes without a lease, or ends that.
    func toggleOwn(_ device: LeaseDevice, _ channel: Int) {
        if device.uses[channel].isOwn {
            device.uses[channel].isOwn = false
            device.channel(channel).unsubscribe()
            leave(device, channel)
        } else {
            let (position, isFresh) = chooseStart(device, channel)
            begin(device, channel, at: position, isFresh: isFresh)
            device.uses[channel].isOwn = true
            device.channel(channel).subscribe(
                from: position,
                fresh: isFresh && variant != .freshContinues
            )
        }
    }

    private func chooseStart(_ device: LeaseDevice, _ channel: Int) -> (Position?, isFresh: Bool) {
        let start = random.pick(Self.starts)
        guard let known = device.uses[channel].position ?? heads[channel] else {
            return (nil, start == .fresh)
        }
        func moved(to serial: UInt64, in stream: String? = nil) -> Position {
            Position(stream: stream ?? known.stream, serial: serial)
        }
        let distance = UInt64(1 + random.number(6))
        switch start {
        case .present: return (nil, false)
        case .fresh: return (nil, true)
        case .known: return (known, false)
        case .ahead: return (moved(to: known.serial + distance), false)
        case .behind: return (moved(to: known.serial - min(known.serial, distance)), false)
        case .otherStream:
            let stream = random.happens(50) ? formerStream(of: channel) : "other"
            return (moved(to: known.serial + distance - 1, in: stream), false)
        }
    }

    /// A use of a channel begins: a new subscription begins at its position, else where the channel was left.
    private func begin(
        _ device: LeaseDevice,
        _ channel: Int,
        at position: Position?,
        isFresh: Bool
    ) {
        guard !device.uses[channel].isHeld else { return }
        let leftAt = device.uses[channel].leftAt.take()
        let isKept = leftAt.map { now - $0 < LeaseScenario.resubscribeGrace } ?? false
        if isKept, !isFresh, device.uses[channel].position != nil { reach(.resubscription) }
        if !isKept || isFresh { device.uses[channel].position = nil }
        if let position { device.uses[channel].position = position }
    }

    private func leave(_ device: LeaseDevice, _ channel: Int) {
        if !device.uses[channel].isHeld { device.uses[channel].leftAt = now }
    }

    // MARK: - Readers

    private func read(_ device: LeaseDevice, _ channel: Int, _ index: Int) {
        let held = device.uses[channel].leases[index]
        let kind: LeaseBook.Kind =
            random.happens(70) ? .deliveries : .state(hasPosition: random.happens(50))
        let book = LeaseBook(
            "reader \(held.books.count + 1) of lease \(held.number), \(device.name)",
            kind,
            device,
            channel,
            from: held.start,
            at: device.uses[channel].position,
            in: self
        )
        book.missesGaps =
            variant == .behindUntold && held.start != nil && device.uses[channel].leases.count > 1
            || variant == .gapToldOnce && !device.uses[channel].books.isEmpty
        device.uses[channel].leases[index].books.append(book)
        switch kind {
        case .deliveries:
            read(held.lease.deliveries("event")) {
                book.receive($0)
            } ended: {
                book.ended($0)
            }
        case .state(let hasPosition):
            let deliveries = held.lease.deliveries(
                "event",
                behind: { [self] in try await load(channel) },
                at: { hasPosition ? $0.position : nil }
            )
            read(deliveries) {
                book.receive($0)
            } ended: {
                book.ended($0)
            }
        }
    }

    private func read<Sequence: AsyncSequence & Sendable>(
        _ sequence: Sequence,
        _ receive: @escaping @Sendable (Sequence.Element) -> Void,
        ended: @escaping @Sendable ((any Error)?) -> Void
    ) where Sequence.Element: Sendable {
        Task(executorPreference: executor) {
            do {
                for try await element in sequence { receive(element) }
                ended(nil)
            } catch {
                ended(error)
            }
        }
    }

    private struct LoadError: Error {}

    /// Loads a state, which takes a while or fails at times.
    private func load(_ channel: Int) async throws -> LeaseState {
        if random.happens(50) { await withCheckedContinuation { loads.append($0) } }
        if random.happens(5) { throw LoadError() }
        return LeaseState(position: heads[channel], eventCount: events.count)
    }

    // MARK: - Settlement

    /// Connects all devices, delivers everything, and checks what their apps have read.
    func settle() throws {
        for device in devices {
            device.isOnline = true
            if device.connection?.isDead == true { device.connection?.cut() }
            device.client.connect()
        }
        for round in 0..<60 {
            try runUntilIdle()
            runApps()
            if round > 2, isSettled { break }
            // A state that is older than its subscription is loaded again.
            if round == 2 || round % 5 == 4 {
                for channel in LeaseScenario.channels.indices { try publish(on: channel) }
            }
            try advance(1)
        }
        try checkReports()
        guard isSettled else { throw Violation(.progress, "the devices do not catch up") }
        reach(.settlement)
        for device in devices {
            for (channel, use) in device.uses.enumerated() {
                guard let head = heads[channel] else { continue }
                for book in use.books { book.check(upTo: head) }
            }
        }
        try checkReports()
    }

    /// Whether all channels are subscribed, and all apps have read what there is.
    private var isSettled: Bool {
        exchanges.isEmpty && loads.isEmpty && !clock.isAwaited
            && devices.allSatisfy { device in
                device.uses.indices.allSatisfy { channel in
                    let use = device.uses[channel]
                    return !use.isHeld
                        || device.channel(channel).isSubscribed && use.books.allSatisfy(\.hasBegun)
                }
            }
    }

    /// Ends all leases, and the tasks that read them.
    func breakCycles() {
        for device in devices {
            for use in device.uses {
                for book in use.books { book.hasEnded = true }
                for held in use.leases { held.lease.cancel() }
            }
            device.client.disconnect()
        }
        repeat {
            clock.end()
            for load in exchange(&loads, with: []) { load.resume() }
        } while executor.run() > 0 || !loads.isEmpty
        for device in devices { device.uses = [] }
    }
}
