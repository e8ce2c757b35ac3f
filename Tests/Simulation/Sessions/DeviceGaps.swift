import PusherProtocol

/// Gaps, and tokens that two devices share, as devices are told of them.
extension SessionWorld {
    func receive(
        gap data: String,
        of channel: Int,
        _ device: Device,
        _ connection: DeviceConnection
    ) throws {
        let isEncrypted = SessionScenario.channels[channel].hasPrefix("private-encrypted-")
        let reason = data.firstMatch(of: /"reason":"(\w+)"/).map { String($0.1) }
        guard isEncrypted ? data == "{}" : reason != nil else {
            throw device.broken(.answers, "received the gap \(data)")
        }
        if let reason { reach(.gap(reason)) }
        connection.gaps.insert(channel)
        guard let book = device.books[channel] else { return }
        try check(reason, channel, book, device)
        device.books[channel]?.beganAt = step
        device.books[channel]?.certainAt = now
        device.books[channel]?.gapMark = processedCount
        device.books[channel]?.lacksGap = false
        // A subscription that was granted to a superseded connection began where the other device's would have.
        if device.sharesToken { device.books[channel]?.lacksOpening = false }
    }

    /// Checks that a gap is told only where something may be missing.
    private func check(
        _ reason: String?,
        _ channel: Int,
        _ book: Device.Book,
        _ device: Device
    ) throws {
        let missed = events.filter { $0.channel == channel && $0.time >= book.certainAt }
        let seconds = (now - book.certainAt) / 1_000
        let isTruncated =
            missed.count > SessionScenario.messagesMax
            || seconds >= SessionScenario.messageAgeMax - 1
        let isTooMuch =
            missed.count > SessionScenario.replayMessagesMax
            || missed.reduce(0) { $0 + $1.length + 200 } > SessionScenario.replayBytesMax
        let isTrue =
            switch reason {
            case "truncated": isTruncated
            case "too_much": isTooMuch
            case "unknown_session": device.mayBeUnknown
            case "shared_session": device.sharesToken
            case nil: isTruncated || isTooMuch || device.mayBeUnknown
            default: false
            }
        // Who shares a token may be told what the other one has missed.
        guard isTrue || book.gapMark != nil || device.sharesToken else {
            throw device.broken(
                .honesty,
                "was told of a gap on \(SessionScenario.channels[channel]), \(reason ?? "encrypted"), "
                    + "with \(missed.count) events in \(seconds) seconds"
            )
        }
    }

    // MARK: - Shared tokens

    /// Called when a device is told that another one uses its token: with the claim of a connection, or while it lasts.
    func receiveShared(_ device: Device, _ connection: DeviceConnection) throws {
        guard device.sharesToken else {
            throw device.broken(.honesty, "was told that it shares its token")
        }
        connection.isShared = true
        // It may have been decided long before the device reads it.
        let isForgotten = device.sharedAt.map { now - $0 >= SessionScenario.certainAge } ?? true
        if isForgotten { device.toldSharedAt = now }
        device.sharedAt = connection.connectedAt
    }

    /// Whether a connection certainly resumes nothing: two living devices had used its token before it was opened, and the
    /// session was not forgotten.
    func resumesNothing(_ device: Device, _ connection: DeviceConnection) -> Bool {
        guard let sharedAt = [device.sharedAt, device.twin?.sharedAt].compactMap(\.self).max(),
            let toldAt = [device.toldSharedAt, device.twin?.toldSharedAt].compactMap(\.self).min()
        else { return false }
        let isBehind = connection.isShared || connection.connectedAt > toldAt
        return isBehind && !hasEvicted && now - sharedAt < SessionScenario.certainAge
    }

    /// Checks that two connected devices with one token are told, on all of their channels.
    ///
    /// - Parameter device: A device that has been connected for as long as the broker takes to notice.
    /// - Throws: It was not told.
    func checkShared(_ device: Device) throws {
        guard let connection = device.connection, connection.hasClaimed,
            let other = device.twin?.connection, other.hasClaimed,
            !connection.isWithoutRecovery, !other.isWithoutRecovery
        else { return }
        guard connection.isShared else {
            // The session may have been forgotten after the other one was told.
            let since = device.twin?.sharedAt.map { connection.claimedAt - $0 } ?? 0
            guard other.isShared, hasEvicted || since >= SessionScenario.certainAge else {
                throw device.broken(.answers, "was not told that it shares its token")
            }
            return
        }
        for (channel, isGranted) in connection.subscriptions
        where isGranted && !connection.gaps.contains(channel) {
            throw device.broken(.answers, "shares its token, and was not told on \(channel)")
        }
    }
}
