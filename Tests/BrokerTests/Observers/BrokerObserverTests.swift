import PusherProtocol
import Synchronization
import Testing

@testable import Broker

/// Records the received events as text.
private final class Recorder: BrokerObserver {
    private let kinds: @Sendable (AppID?) -> BrokerEventKinds
    private let events = Mutex<[String]>([])

    init(_ kinds: @escaping @Sendable (AppID?) -> BrokerEventKinds) { self.kinds = kinds }

    var seen: [String] { events.withLock { $0 } }

    func observedKinds(of app: AppID?) -> BrokerEventKinds { kinds(app) }

    func observe(_ event: BrokerEvent, of app: AppID?) {
        events.withLock { $0.append("\(app?.text ?? "-") \(event)") }
    }
}

@Suite("Observers of the broker") struct BrokerObserverTests {
    private let one = AppID("1")
    private let two = AppID("2")

    private func address(_ app: AppID, _ name: String = "chat") throws -> ChannelAddress {
        ChannelAddress(app: app, name: try ChannelName(name))
    }

    @Test func receivesOnlyRequestedKinds() throws {
        let recorder = Recorder { $0 == AppID("1") ? .occupancy : [] }
        var observers = BrokerObservers([recorder])
        observers.notify(.occupancy, on: try address(one), .occupied)
        #expect(recorder.seen.isEmpty, "before the apps are known")
        observers.update(apps: [one, two])
        observers.notify(.occupancy, on: try address(one), .occupied)
        observers.notify(.occupancy, on: try address(two), .occupied)
        observers.notify(.cacheMisses, on: try address(one), .cacheMiss)
        observers.notify(.limits, of: nil, .limitMet(.connections, count: 1, consequence: nil))
        #expect(recorder.seen.count == 1)
        #expect(recorder.seen.first?.hasPrefix("1 channel(") == true)
    }

    @Test func eachGetsItsOwnKinds() throws {
        let limits = Recorder { $0 == nil ? .limits : [] }
        let members = Recorder { $0 == nil ? [] : .members }
        var observers = BrokerObservers([limits, members])
        observers.update(apps: [one])
        observers.notify(.limits, of: nil, .limitMet(.connections, count: 1, consequence: nil))
        observers.notify(.members, on: try address(one), .memberAdded(UserID("ann")))
        #expect(limits.seen.count == 1 && members.seen.count == 1)
    }

    @Test func usersOwnChannelsAreNotObserved() throws {
        let recorder = Recorder { _ in .occupancy }
        var observers = BrokerObservers([recorder])
        observers.update(apps: [one])
        observers.notify(.occupancy, on: try address(one, "#server-to-user-1"), .occupied)
        #expect(recorder.seen.isEmpty)
    }

    @Test func makesNoEventThatIsNotObserved() throws {
        var observers = BrokerObservers([])
        observers.update(apps: [one])
        var count = 0
        func event() -> ChannelEvent {
            count += 1
            return .occupied
        }
        observers.notify(.occupancy, on: try address(one), event())
        #expect(count == 0)
    }
}
