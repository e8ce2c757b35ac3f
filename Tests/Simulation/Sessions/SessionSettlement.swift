import Broker

/// Checks of what devices have got, once everything is delivered.
extension SessionWorld {
    /// Connects all devices, delivers everything, and checks what they have processed.
    func settle() throws {
        for device in devices {
            device.connection?.isBlocked = false
            device.connection?.isStalled = false
        }
        // A connection may turn out to be closed by the broker, or by its age.
        try connectAll()
        try connectAll()
        if devices.contains(where: \.sharesToken) {
            // A connection that another one has superseded is asked after two seconds whether its client lives.
            try advance(4)
            try connectAll()
        }
        reach(.settlement)
        for device in devices { try check(device) }
        try checkBudgets()
        settledCount = events.count
        // Everything is confirmed within two seconds: by a round, and by a ping for what was still in its interval.
        try advance(3)
        try runUntilIdle()
        for device in devices { confirm(device) }
    }

    private func connectAll() throws {
        for device in devices where device.connection == nil { try connect(device) }
        try runUntilIdle()
        for device in devices { resubscribeAll(device) }
        try runUntilIdle()
    }

    /// Subscribes to the device's channels, as far as it has not: the authorization of some has taken long, or failed.
    func resubscribeAll(_ device: Device) {
        for channel in device.books.keys.sorted() { resubscribe(device, channel) }
    }

    private func resubscribe(_ device: Device, _ channel: Int) {
        for _ in 0..<20 where device.connection?.subscriptions[channel] == nil {
            subscribe(device, channel)
        }
    }

    private func check(_ device: Device) throws {
        guard let connection = device.connection else {
            throw device.broken(.closing, "cannot stay connected")
        }
        try checkShared(device)
        for (channel, isGranted) in connection.subscriptions {
            let name = SessionScenario.channels[channel]
            guard isGranted else {
                throw device.broken(.answers, "has no answer to its subscription to \(name)")
            }
            guard let book = device.books[channel], isPromised(device) else { continue }
            if book.lacksGap {
                throw device.broken(.answers, "was not told that its session is unknown on \(name)")
            }
            if let event = missedEvent(of: device, on: channel) {
                throw device.broken(
                    .recovery,
                    "has never got event \(event.id) on \(name), which it follows since step \(book.beganAt)"
                )
            }
            // A cached event that excludes the device is in its replay, left out.
            let isExcluded = events.contains {
                $0.channel == channel && device.isExcluded(from: $0)
            }
            if book.lacksOpening, !isExcluded {
                throw device.broken(.cache, "has never got what \(name) holds")
            }
        }
    }

    /// The first event that a device has not got of a channel, and had to.
    func missedEvent(of device: Device, on channel: Int) -> SessionEvent? {
        guard let book = device.books[channel] else { return nil }
        return events.first {
            $0.channel == channel && $0.isAccepted && $0.step > book.beganAt
                && !book.received.contains($0.id) && !device.isExcluded(from: $0)
        }
    }

    /// Checks that the broker keeps no more than the limits allow.
    private func checkBudgets() throws {
        let sizes = broker.retainedSizes()
        guard sizes.sessions <= sessionsMax else {
            throw Violation(
                .budgets,
                "the broker has \(sizes.sessions) sessions, and may have \(sessionsMax)"
            )
        }
        try sizes.check(messagesMax: SessionScenario.messagesMax)
    }

    /// Whether the device loses nothing untold: not while it shares a token with one that it has not met.
    private func isPromised(_ device: Device) -> Bool {
        guard !device.isBeyondPromise, device.twin?.isBeyondPromise != true else { return false }
        guard device.sharesToken else { return true }
        return device.connection?.hasClaimed == true && device.twin?.connection?.hasClaimed == true
    }

    /// Notes what the broker certainly knows to be confirmed.
    func confirm(_ device: Device) {
        guard let connection = device.connection, !device.sharesToken,
            variant != .confirmedAtWriting
        else { return }
        for (channel, received) in connection.answered {
            device.books[channel]?.certain.formUnion(received)
            if let mark = device.books[channel]?.gapMark, mark < connection.answeredMark {
                device.books[channel]?.gapMark = nil
            }
            if device.books[channel]?.received == received {
                device.books[channel]?.certainAt = now
            }
        }
        if connection.hasClaimed {
            device.contactAt = now
            device.isKnown = true
        }
    }
}
