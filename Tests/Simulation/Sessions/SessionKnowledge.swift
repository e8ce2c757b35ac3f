/// What the broker may not know of sessions, by the rules for tokens that it does not find.
extension SessionWorld {
    /// Called with the first grant of a connection, which has claimed the device's session.
    func claimed(_ device: Device, _ connection: DeviceConnection) {
        connection.hasClaimed = true
        connection.claimedAt = now
        if mayBeForgotten(device) || mayBeTakenForForgotten(device) { device.mayBeUnknown = true }
        // A session that is remembered for two minutes after it was forgotten, and then taken for new: it was made by a
        // clock that is further ahead. docs/proof/reliability.md does not promise anything for it.
        let age = SessionScenario.certainAge + SessionScenario.clockTolerance
        let isOfBefore = !isComplete && device.createdAt <= startedAt
        if device.skew > SessionScenario.clockTolerance,
            isOfBefore || hasEvicted || now - device.contactAt >= age
        {
            device.isBeyondPromise = true
        }
        // The first claim of a token whose time has not come.
        let isFirst = device.socketIDs.count == 1 && !device.sharesToken
        if isFirst, device.createdAt + device.skew > now + SessionScenario.clockTolerance {
            device.isCertainlyUnknown = true
        }
    }

    /// Whether the session may have been forgotten since the device last used it.
    private func mayBeForgotten(_ device: Device) -> Bool {
        hasEvicted || now - device.contactAt >= SessionScenario.certainAge
    }

    /// Whether a session that never was may count as forgotten.
    private func mayBeTakenForForgotten(_ device: Device) -> Bool {
        let created = device.createdAt + device.skew
        let isOfBefore = !isComplete && created <= startedAt + SessionScenario.clockTolerance
        let isAhead = device.skew > SessionScenario.clockTolerance - 2_000
        let isOld = !device.isKnown && now - created >= (SessionScenario.sessionAge - 2) * 1_000
        return isOfBefore || isAhead || isOld
    }
}
