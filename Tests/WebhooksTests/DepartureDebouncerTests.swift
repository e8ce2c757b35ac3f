import Broker
import PusherProtocol
import Testing

@testable import Webhooks

@Suite("The delay of departures, Pusher: channel_vacated and member_removed")
struct DepartureDebouncerTests {
    private static let a = UserID("a")
    private static let b = UserID("b")
    private static let room = channel("presence-room")
    private static let other = channel("presence-other")

    /// A report, or an advance of the clock, at a time in milliseconds.
    struct Step: Sendable {
        let time: Int64
        var event: ReportedEvent?
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let rule: String
        let steps: [Step]
        /// The sent events, in order.
        let told: [ReportedEvent]
        var testDescription: String { rule }
    }

    @Test(arguments: [
        Row(
            rule: "an arrival is sent at once",
            steps: [Step(time: 0, event: .channelOccupied(room))],
            told: [.channelOccupied(room)]
        ),
        Row(
            rule: "a departure is not sent before the delay is over",
            steps: [Step(time: 0, event: .channelVacated(room)), Step(time: 2_999)],
            told: []
        ),
        Row(
            rule: "a departure is sent when the delay is over",
            steps: [Step(time: 0, event: .channelVacated(room)), Step(time: 3_000)],
            told: [.channelVacated(room)]
        ),
        Row(
            rule:
                "a return within the delay cancels the departure, and nothing is sent, not even later",
            steps: [
                Step(time: 0, event: .channelVacated(room)),
                Step(time: 2_999, event: .channelOccupied(room)), Step(time: 10_000),
            ],
            told: []
        ),
        Row(
            rule: "after a return beyond the delay, both are sent",
            steps: [
                Step(time: 0, event: .channelVacated(room)), Step(time: 3_000),
                Step(time: 3_000, event: .channelOccupied(room)),
            ],
            told: [.channelVacated(room), .channelOccupied(room)]
        ),
        Row(
            rule: "a second departure has its own delay",
            steps: [
                Step(time: 0, event: .channelVacated(room)),
                Step(time: 1_000, event: .channelOccupied(room)),
                Step(time: 2_000, event: .channelVacated(room)), Step(time: 4_999),
            ],
            told: []
        ),
        Row(
            rule: "members are debounced like channels",
            steps: [
                Step(time: 0, event: .memberAdded(room, userID: a)),
                Step(time: 1, event: .memberRemoved(room, userID: a)),
                Step(time: 2, event: .memberAdded(room, userID: a)),
                Step(time: 3, event: .memberRemoved(room, userID: a)), Step(time: 3_003),
            ],
            told: [.memberAdded(room, userID: a), .memberRemoved(room, userID: a)]
        ),
        Row(
            rule: "the return of one member does not affect others",
            steps: [
                Step(time: 0, event: .memberRemoved(room, userID: a)),
                Step(time: 1, event: .memberAdded(room, userID: b)), Step(time: 3_000),
            ],
            told: [.memberAdded(room, userID: b), .memberRemoved(room, userID: a)]
        ),
        Row(
            rule: "a channel that another member keeps occupied has no departure",
            steps: [
                Step(time: 0, event: .memberRemoved(room, userID: a)),
                Step(time: 0, event: .channelVacated(room)),
                Step(time: 1, event: .channelOccupied(room)),
                Step(time: 1, event: .memberAdded(room, userID: b)), Step(time: 5_000),
            ],
            told: [.memberAdded(room, userID: b), .memberRemoved(room, userID: a)]
        ),
        Row(
            rule: "arrivals are sent in order, the channel's first",
            steps: [
                Step(time: 0, event: .channelOccupied(room)),
                Step(time: 0, event: .memberAdded(room, userID: a)),
            ],
            told: [.channelOccupied(room), .memberAdded(room, userID: a)]
        ),
        Row(
            rule: "the channel's departure is sent last, however it was reported",
            steps: [
                Step(time: 0, event: .channelVacated(room)),
                Step(time: 0, event: .memberRemoved(room, userID: a)), Step(time: 3_000),
            ],
            told: [.memberRemoved(room, userID: a), .channelVacated(room)]
        ),
        Row(
            rule: "departures of several channels are sent in order",
            steps: [
                Step(time: 0, event: .channelVacated(room)),
                Step(time: 1, event: .channelVacated(other)), Step(time: 9_000),
            ],
            told: [.channelVacated(room), .channelVacated(other)]
        ),
        Row(
            rule: "a repeated departure is ignored",
            steps: [
                Step(time: 0, event: .channelVacated(room)),
                Step(time: 2_000, event: .channelVacated(room)), Step(time: 3_000),
                Step(time: 9_000),
            ],
            told: [.channelVacated(room)]
        ),
        Row(
            rule: "other events are sent at once",
            steps: [
                Step(time: 0, event: .cacheMiss(room)),
                Step(time: 0, event: .subscriptionCount(room, 3)),
            ],
            told: [.cacheMiss(room), .subscriptionCount(room, 3)]
        ),
    ])
    func tells(_ row: Row) {
        var debouncer = DepartureDebouncer(delay: 3_000, countMax: 100)
        var told: [ReportedEvent] = []
        for step in row.steps {
            if let event = step.event {
                let report = Report(app: appID, event: event, uptime: step.time)
                if debouncer.process(report) { told.append(event) }
            } else {
                told += debouncer.takeDue(at: step.time).map(ReportedEvent.init)
            }
        }
        #expect(told == row.told)
    }

    private func report(
        _ event: ReportedEvent,
        of app: AppID = appID,
        at time: Int64
    ) -> Report {
        Report(app: app, event: event, uptime: time)
    }

    @Test func appsAreSeparate() {
        var debouncer = DepartureDebouncer(delay: 3_000, countMax: 100)
        _ = debouncer.process(report(.channelVacated(channel()), at: 0))
        let isTold = debouncer.process(report(.channelOccupied(channel()), of: AppID("2"), at: 1))
        #expect(isTold)
        let told = debouncer.takeDue(at: 3_000)
        #expect(told.map(\.address.app) == [appID])
    }

    @Test func reportsTheNextDueTime() {
        var debouncer = DepartureDebouncer(delay: 3_000, countMax: 100)
        var dues = [debouncer.nextDue()]
        for event in [
            report(.channelVacated(channel("a")), at: 5),
            report(.channelVacated(channel("b")), at: 7),
            report(.channelOccupied(channel("a")), at: 8),
            report(.channelOccupied(channel("b")), at: 9),
        ] {
            _ = debouncer.process(event)
            dues.append(debouncer.nextDue())
        }
        #expect(dues == [nil, 3_005, 3_005, 3_007, nil])
    }

    @Test func beyondTheLimitTheOldestIsSentAtOnce() {
        var debouncer = DepartureDebouncer(delay: 3_000, countMax: 2)
        for (time, name) in ["a", "b", "c"].enumerated() {
            _ = debouncer.process(report(.channelVacated(channel(name)), at: Int64(time)))
        }
        let told = debouncer.takeDue(at: 2)
        #expect(told.map(ReportedEvent.init) == [.channelVacated(channel("a"))])
        #expect(debouncer.count == 2)
    }

    @Test func leavingAndRejoiningForeverTakesNoMemory() {
        var debouncer = DepartureDebouncer(delay: 3_000, countMax: 100)
        let name = channel()
        for time in 0..<100_000 {
            let event: ReportedEvent =
                time % 2 == 0 ? .channelVacated(name) : .channelOccupied(name)
            _ = debouncer.process(report(event, at: Int64(time / 1_000)))
        }
        #expect(debouncer.count == 0)
        let stored = Mirror(reflecting: debouncer).descendant("departures") as? [Any]
        #expect((stored?.count ?? .max) < 1_000)
    }
}
