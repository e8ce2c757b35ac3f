internal import Broker

extension RecoveryRuleConfiguration {
    /// Adds the contradictions of the rule, by key within it.
    func check(in recovery: RecoverySettings, _ faults: inout FaultCollector) {
        if opening == .replay {
            checkReplay(in: recovery, &faults)
        } else {
            checkLive(&faults)
        }
    }

    /// Checks a rule whose new clients get earlier messages.
    private func checkReplay(in recovery: RecoverySettings, _ faults: inout FaultCollector) {
        if settings.keep != .always {
            faults.add(
                "opening",
                "is replay, but keep is while_needed: nothing is kept before a client tracks the "
                    + "channel; add keep: always"
            )
        }
        if !settings.replaysBeforeJoining {
            faults.add(
                "before_joining",
                "is false, but opening is replay: new clients get what came before they joined; "
                    + "leave out the one or the other"
            )
        }
        for (key, value, other, limit) in [
            (
                "opening_count", openingCount, "messages_max",
                messagesMax ?? recovery.standard.messagesMax
            ),
            (
                "opening_count", openingCount, "recovery.replay_messages_max",
                recovery.replayMessagesMax
            ),
            ("opening_seconds", openingSeconds, "age_max", ageMax ?? recovery.standard.ageMax),
        ] {
            guard let value, value > limit else { continue }
            faults.add(
                key,
                "is \(value), but \(other) is \(limit): no more is kept or replayed; lower the "
                    + "one or raise the other"
            )
        }
    }

    /// Checks a rule whose new clients get live messages alone.
    private func checkLive(_ faults: inout FaultCollector) {
        for (key, value) in [("opening_count", openingCount), ("opening_seconds", openingSeconds)]
        where value != nil {
            faults.add(key, "is of no use without opening: replay: add it, or leave this out")
        }
        if !settings.replaysBeforeJoining, settings.allowsRewind {
            faults.add(
                "before_joining",
                "is false, but rewind is true: a rewind gives what came before the client "
                    + "joined; leave out the one or the other"
            )
        }
    }
}
