internal import Broker

extension AppConfiguration {
    /// The contradictions of the app's recovery, by key within the app.
    func recoveryFaults() -> [(key: String, problem: String)] {
        var faults: [(key: String, problem: String)] = []
        for (index, rule) in recoveryRules.enumerated() {
            let ruleFaults =
                rule.opening == .replay
                ? openingFaults(of: rule) : rule.faultsWithoutReplay()
            faults += ruleFaults.map { ("recovery.rules.\(index).\($0)", $1) }
        }
        return faults
    }

    /// The faults of a rule whose new clients get earlier messages.
    private func openingFaults(
        of rule: RecoveryRuleConfiguration
    ) -> [(key: String, problem: String)] {
        var faults: [(key: String, problem: String)] = []
        if rule.settings.keep != .always {
            faults.append(
                (
                    "opening",
                    "is replay, but keep is while_needed: nothing is kept before a client tracks the "
                        + "channel; add keep: always"
                )
            )
        }
        if !rule.settings.replaysBeforeJoining {
            faults.append(
                (
                    "before_joining",
                    "is false, but opening is replay: new clients get what came before they joined; "
                        + "leave out the one or the other"
                )
            )
        }
        let limits = [
            (
                "opening_count", rule.openingCount ?? 0,
                [
                    ("messages_max", rule.messagesMax ?? recovery.standard.messagesMax),
                    ("recovery.replay_messages_max", recovery.replayMessagesMax),
                ]
            ),
            (
                "opening_seconds", rule.openingSeconds ?? 0,
                [
                    ("age_max", rule.ageMax ?? recovery.standard.ageMax)
                ]
            ),
        ]
        for (key, value, maxima) in limits {
            for (other, limit) in maxima where value > limit {
                let problem =
                    "is \(value), but \(other) is \(limit): no more is kept or replayed; lower the "
                    + "one or raise the other"
                faults.append((key, problem))
            }
        }
        return faults
    }
}

extension RecoveryRuleConfiguration {
    /// The faults of a rule whose new clients get live messages alone.
    fileprivate func faultsWithoutReplay() -> [(key: String, problem: String)] {
        var faults: [(key: String, problem: String)] = []
        for (key, value) in [
            ("opening_count", openingCount), ("opening_seconds", openingSeconds),
        ] where value != nil {
            faults.append((key, "is of no use without opening: replay: add it, or leave this out"))
        }
        if !settings.replaysBeforeJoining, settings.allowsRewind {
            faults.append(
                (
                    "before_joining",
                    "is false, but rewind is true: a rewind gives what came before the client "
                        + "joined; leave out the one or the other"
                )
            )
        }
        return faults
    }
}
