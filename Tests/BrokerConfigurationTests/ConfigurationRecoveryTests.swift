import Broker
import Testing

@testable import BrokerConfiguration

@Suite("Configuration: recovery") struct ConfigurationRecoveryTests {
    @Test("Everything about a rule is read")
    func reads() throws {
        let yaml = """
            apps:
              - id: 1
                key: k
                secret: s
                recovery:
                  rules:
                    - channel_prefix: job-
                      keep: always
                      opening: replay
                      opening_count: 50
                      opening_seconds: 60
                    - {channel_prefix: private-, before_joining: false}
            recovery: {connection_records: all, connection_records_max: 7}
            """
        let configuration = try Configuration.load(yaml: yaml, file: "f.yaml")
        let rules = configuration.apps[0].recoveryRules
        var job = RecoveryRuleConfiguration()
        job.settings.channelPrefix = "job-"
        job.settings.keep = .always
        job.opening = .replay
        job.openingCount = 50
        job.openingSeconds = 60
        var joined = RecoveryRuleConfiguration()
        joined.settings.channelPrefix = "private-"
        joined.settings.replaysBeforeJoining = false
        #expect(rules == [job, joined])
        #expect(configuration.connectionRecords.scope == .all)
        #expect(configuration.connectionRecords.closedMax == 7)
    }

    @Test(
        "A contradiction is named with its remedy",
        arguments: [
            (
                "{opening: replay}",
                "opening is replay, but keep is while_needed: nothing is kept before a client "
                    + "tracks the channel; add keep: always"
            ),
            (
                "{keep: always, opening: replay, before_joining: false}",
                "before_joining is false, but opening is replay: new clients get what came before "
                    + "they joined; leave out the one or the other"
            ),
            (
                "{rewind: true, before_joining: false}",
                "before_joining is false, but rewind is true: a rewind gives what came before the "
                    + "client joined; leave out the one or the other"
            ),
            (
                "{keep: always, opening: replay, opening_count: 5, messages_max: 4}",
                "opening_count is 5, but messages_max is 4: no more is kept or replayed; lower the "
                    + "one or raise the other"
            ),
            (
                "{keep: always, opening: replay, opening_count: 20000, messages_max: 30000}",
                "opening_count is 20000, but recovery.replay_messages_max is 10000: no more is "
                    + "kept or replayed; lower the one or raise the other"
            ),
            (
                "{keep: always, opening: replay, opening_seconds: 301}",
                "opening_seconds is 301, but age_max is 300: no more is kept or replayed; lower "
                    + "the one or raise the other"
            ),
            (
                "{opening_count: 5}",
                "opening_count is of no use without opening: replay: add it, or leave this out"
            ),
            (
                "{opening_seconds: 5}",
                "opening_seconds is of no use without opening: replay: add it, or leave this out"
            ),
            (
                "{opening: last}",
                "opening must be one of live, replay, not \"last\""
            ),
            (
                "{keep: always, opening: replay, opening_count: 0}",
                "opening_count must be a number of messages from 1 to 10000000, or none, not \"0\""
            ),
        ]
    )
    func contradictions(rule: String, fault: String) {
        let yaml = "apps:\n- id: 1\n  key: k\n  secret: s\n  recovery: {rules: [\(rule)]}"
        #expect(faults(yaml) == ["f.yaml:5: apps.0.recovery.rules.0.\(fault)"])
    }
}
