/// Checks of what devices have got, once everything is delivered.
extension SessionWorld {
    /// Connects all devices, delivers everything, and checks what they have processed.
    func settle() throws {
        for device in devices {
            device.connection?.isBlocked = false
            if device.connection == nil { try connect(device) }
        }
        try runUntilIdle()
        for device in devices {
            for channel in device.books.keys.sorted() { resubscribe(device, channel) }
        }
        try runUntilIdle()
        reach(.settlement)
        for device in devices { try check(device) }
        settledCount = events.count
        // Everything is confirmed within two seconds: by a round, and by a ping for what was still in its interval.
        try advance(3)
        try runUntilIdle()
        for device in devices { confirm(device) }
    }

    private func resubscribe(_ device: Device, _ channel: Int) {
        for _ in 0..<20 where device.connection?.subscriptions[channel] == nil {
            subscribe(device, channel)
        }
    }

    private func check(_ device: Device) throws {
        guard let connection = device.connection else { return }
        // A forgotten session of a device whose clock is over two minutes ahead may be taken for new: that is not promised.
        let isPromised =
            device.skew <= SessionScenario.clockTolerance
            || !hasEvicted && device.unknownUntil == 0
        for (channel, isGranted) in connection.subscriptions {
            let name = SessionScenario.channels[channel]
            guard isGranted else {
                throw device.broken(.answers, "has no answer to its subscription to \(name)")
            }
            guard let book = device.books[channel], !device.isTwin, isPromised else {
                continue
            }
            for event in events
            where event.channel == channel && event.isAccepted && event.step > book.beganAt {
                guard !book.received.contains(event.id), !device.isExcluded(from: event) else {
                    continue
                }
                throw device.broken(
                    .recovery,
                    "has never got event \(event.id) on \(name), which it follows since step \(book.beganAt)"
                )
            }
            if book.lacksOpening {
                throw device.broken(.cache, "has never got what \(name) holds")
            }
        }
    }

    /// Notes what the broker certainly knows to be confirmed.
    private func confirm(_ device: Device) {
        guard let connection = device.connection, !device.isTwin, variant != .confirmedAtWriting
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
        if connection.mayBeUnknown != nil {
            device.contactAt = now
            device.isKnown = true
        }
    }
}
