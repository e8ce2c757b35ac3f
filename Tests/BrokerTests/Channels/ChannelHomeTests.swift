import PusherProtocol
import Testing

@testable import Broker

/// A home with the state of its shard, as a class, because `#expect` takes no mutating calls.
private final class Home {
    let address: ChannelAddress
    let app: App
    var home = ChannelHome(on: 0)
    var state: HomeShardState
    var now: Int64 = 0

    init(
        _ channel: String,
        features: AppFeatures = AppFeatures(),
        limits: AppLimits = AppLimits(),
        smallPresenceChannelMax: Int = 100
    ) throws {
        address = ChannelAddress(app: AppID("1"), name: try ChannelName(channel))
        app = App(
            id: AppID("1"),
            key: "key",
            secret: AppSecret("secret"),
            features: features,
            limits: limits
        )
        state = HomeShardState(smallPresenceChannelMax: smallPresenceChannelMax)
        state.reportsCacheMisses = true
    }

    func subscribe(
        _ number: UInt64,
        shard: Int = 0,
        as user: String? = nil,
        info: String? = nil
    ) -> [String] {
        let member = user.map { Member(id: UserID($0), info: info.map { Array($0.utf8) }) }
        let subscriber = Subscriber(SocketID(number, 1), shard: shard, member: member)
        let effects = home.subscribe(
            subscriber,
            to: address,
            of: app,
            sharing: &state,
            at: now
        )
        return effects.map(words)
    }

    func unsubscribe(_ number: UInt64, shard: Int = 0) -> [String] {
        let id = SocketID(number, 1)
        let effects = home.unsubscribe(
            id,
            from: shard,
            at: address,
            of: app,
            sharing: &state,
            now: now
        )
        return effects.map(words)
    }

    func cache(_ data: String) throws -> [String] {
        let body = Array(#"{"name":"e","channel":"\#(address.name)","data":"\#(data)"}"#.utf8)
        let event = ProposedEvent.publication(try TriggerRequest.parse(body.span))
        guard
            case .publish(let stream) =
                home.decide(on: event, at: address, of: app, sharing: &state, now: now)
        else { return ["not published"] }
        return state.record(
            event,
            as: nil,
            in: stream,
            on: address,
            of: app,
            at: now,
            now: now
        )
        .map(words)
    }

    /// Removes the members that have not returned until a time.
    func removeDeparted(at time: Int64) -> [String] {
        now = time
        return state.takeDeparted(atMost: 64, at: now).flatMap {
            home.removeDeparted($0.user, at: address, of: app, sharing: state).map(words)
        }
    }

    func announceDueCounts() -> [String] {
        state.takeDueCounts(at: now).flatMap { home.announceCount(of: $0, of: app).map(words) }
    }

    private func words(_ effect: ChannelEffect) -> String {
        switch effect {
        case .grant(let grant):
            let members = grant.members.map(\.id.text).sorted().joined(separator: " ")
            return switch grant.opening {
            case .live: "grant \(members)"
            case .cached(let publication): "grant \(members) with \(publication.data)"
            case .cacheMiss: "grant \(members) without event"
            }
        case .refuse(let membersMax): return "refuse \(membersMax)"
        case .fanOut(.memberAdded(_, let user, _), let delay): return "send +\(user) \(delay)"
        case .fanOut(.memberRemoved(_, let user), let delay): return "send -\(user) \(delay)"
        case .fanOut(.subscriptionCount(_, let count), let delay): return "send \(count) \(delay)"
        case .fanOut(let message, _): return "send \(message)"
        case .notify(let event): return "notify \(event)"
        case .limitMet(let limit): return "limit \(limit.rawValue)"
        }
    }
}

@Suite("The home of a channel") struct ChannelHomeTests {
    @Test func grantsAndReportsTheFirstAndTheLastSubscriber() throws {
        let home = try Home("chat")
        #expect(home.subscribe(1) == ["notify occupied", "grant "])
        #expect(home.subscribe(2, shard: 1) == ["grant "])
        #expect(home.home.subscribers.total == 2)
        #expect(home.home.subscribers.otherShards == [1])
        #expect(home.unsubscribe(1) == [])
        #expect(home.unsubscribe(2, shard: 1) == ["notify vacated"])
        #expect(home.home.isVacant)
    }

    @Test func announcesAMemberAheadOfTheGrant() throws {
        let home = try Home("presence-x", features: Self.atOnce)
        let ann = home.subscribe(1, as: "ann")
        #expect(ann.count == 4)
        #expect(ann.first == "notify occupied")
        #expect(ann.suffix(2) == ["send +ann 0", "grant ann"])
        #expect(home.subscribe(2, as: "ann") == ["grant ann"])
        #expect(home.subscribe(3, as: "bob").suffix(2) == ["send +bob 0", "grant ann bob"])
        #expect(home.unsubscribe(1) == [])
        #expect(home.unsubscribe(2).last == "send -ann 0")
        let last = home.unsubscribe(3)
        #expect(last.last == "notify vacated")
        #expect(!last.contains { $0.hasPrefix("send") }, "no subscriber is left to send it to")
    }

    /// Members leave as soon as their last connections do.
    private static let atOnce = AppFeatures { $0.presenceGrace = 0 }

    @Test("A member who returns within three seconds has not left")
    func returning() throws {
        let home = try Home("presence-x")
        _ = (home.subscribe(1, as: "ann"), home.subscribe(2, as: "bob"))
        #expect(home.unsubscribe(2) == ["notify memberRemoved(bob)"])
        home.now = 300
        #expect(home.subscribe(3, as: "cat").last == "grant ann bob cat")
        #expect(home.home.author(SocketID(2, 1), on: home.address.name) == nil)
        home.now = 2_999
        #expect(home.removeDeparted(at: 2_999) == [])
        // The same connection, and another one.
        #expect(home.subscribe(2, as: "bob") == ["notify memberAdded(bob)", "grant ann bob cat"])
        #expect(home.removeDeparted(at: 10_000) == [])
        #expect(home.subscribe(4, as: "bob") == ["grant ann bob cat"])
        #expect(home.unsubscribe(2) == [])
        #expect(home.unsubscribe(4) == ["notify memberRemoved(bob)"])
        #expect(home.removeDeparted(at: 12_999) == [])
        #expect(home.state.nextDeparture == 13_000)
        #expect(home.removeDeparted(at: 13_000) == ["send -bob 0"])
        #expect(home.state.nextDeparture == nil)
        #expect(home.removeDeparted(at: 20_000) == [])
        #expect(home.subscribe(5, as: "bob").contains("send +bob 0"))
    }

    @Test("A member who returns with another info leaves and joins")
    func returningChanged() throws {
        let home = try Home("presence-x")
        _ = (home.subscribe(1, as: "ann"), home.subscribe(2, as: "bob", info: "1"))
        _ = home.unsubscribe(2)
        #expect(
            home.subscribe(3, as: "bob", info: "2") == [
                "notify memberAdded(bob)", "send -bob 0", "send +bob 0", "grant ann bob",
            ]
        )
        #expect(home.home.presence.members.first { $0.id == UserID("bob") }?.info == [0x32])
        #expect(home.removeDeparted(at: 9_000) == [])
    }

    @Test("A channel without subscribers has no members")
    func vacating() throws {
        let home = try Home("presence-x")
        _ = (home.subscribe(1, as: "ann"), home.subscribe(2, as: "bob"))
        _ = home.unsubscribe(1)
        #expect(home.unsubscribe(2) == ["notify memberRemoved(bob)", "notify vacated"])
        #expect(home.home.presence.isEmpty && home.state.nextDeparture == nil)
        #expect(home.subscribe(3, as: "bob").last == "grant bob")
        #expect(home.removeDeparted(at: 9_000) == [])
    }

    @Test("A departing member makes room on a full channel")
    func departingMakesRoom() throws {
        var limits = AppLimits()
        limits.membersMax = 2
        let home = try Home("presence-x", limits: limits)
        _ = (home.subscribe(1, as: "ann"), home.subscribe(2, as: "bob"))
        _ = home.unsubscribe(2)
        #expect(
            home.subscribe(3, as: "cat") == [
                "send -bob 0", "notify memberAdded(cat)", "send +cat 0", "grant ann cat",
            ]
        )
        #expect(home.subscribe(4, as: "bob") == ["refuse 2"])
        #expect(home.removeDeparted(at: 9_000) == [])
    }

    @Test("Who joins and leaves a thousand times has one departure")
    func departuresAreBounded() throws {
        let home = try Home("presence-x")
        _ = home.subscribe(1, as: "ann")
        for number in 2...1_001 {
            home.now += 2
            _ = (home.subscribe(UInt64(number), as: "bob"), home.unsubscribe(UInt64(number)))
        }
        #expect(home.state.departing.entryCount <= 66)
        #expect(home.removeDeparted(at: home.now + 2_999) == [])
        #expect(home.removeDeparted(at: home.now + 1) == ["send -bob 0"])
        #expect(home.state.departing.entryCount == 0)
    }

    @Test func refusesAMemberTooMany() throws {
        var limits = AppLimits()
        limits.membersMax = 1
        let home = try Home("presence-x", limits: limits)
        _ = home.subscribe(1, as: "ann")
        #expect(home.subscribe(2, as: "bob") == ["refuse 1"])
        #expect(home.home.subscribers.total == 1)
        #expect(home.subscribe(3, as: "ann") == ["grant ann"], "another connection of a member")
        #expect(home.unsubscribe(2) == [], "it was refused")
        #expect(home.home.subscribers.total == 2)
    }

    @Test func aFullChannelStaysVacant() throws {
        var limits = AppLimits()
        limits.membersMax = 0
        let home = try Home("presence-x", limits: limits)
        #expect(home.subscribe(1, as: "ann") == ["refuse 0"])
        #expect(home.home.isVacant)
    }

    @Test("Notices of a large presence channel are delayed as configured")
    func delaysNotices() throws {
        var features = AppFeatures()
        features.presenceNoticeDelay = 20
        features.presenceGrace = 0
        let home = try Home("presence-x", features: features, smallPresenceChannelMax: 2)
        #expect(home.subscribe(1, as: "a").contains("send +a 0"))
        #expect(home.subscribe(2, as: "b").contains("send +b 0"))
        #expect(home.subscribe(3, as: "c").contains("send +c 20"))
        #expect(home.subscribe(4, as: "d").contains("send +d 20"))
        #expect(home.unsubscribe(4).contains("send -d 20"))
        #expect(home.unsubscribe(3).contains("send -c 0"))
    }

    @Test func opensACacheChannelWithItsLastEvent() throws {
        let home = try Home("cache-x")
        #expect(
            home.subscribe(1) == ["notify occupied", "notify cacheMiss", "grant  without event"]
        )
        #expect(home.subscribe(2) == ["grant  without event"], "a miss is reported once")
        #expect(try home.cache("one") == ["notify cacheFilled"])
        #expect(try home.cache("two") == [])
        #expect(home.subscribe(3) == ["grant  with two"])
        // The second of two events of one millisecond expires a millisecond later.
        home.now = Int64(home.app.features.cacheLifetime) * 1_000 + 1
        #expect(home.subscribe(4).last == "grant  without event")
    }

    @Test func countsCachedEventsAgainstTheLimit() throws {
        var limits = AppLimits()
        limits.cachedEventsMax = 0
        let home = try Home("cache-x", limits: limits)
        #expect(try home.cache("one") == [])
        #expect(home.state.isCacheEmpty == true)
    }

    @Test("Subscribers receive counts if the app enables them", arguments: ["chat", "private-x"])
    func announcesCounts(channel: String) throws {
        var features = AppFeatures()
        features.subscriptionCount = true
        let home = try Home(channel, features: features)
        let first = home.subscribe(1)
        #expect(first.first == "notify occupied")
        #expect(first.suffix(1) == ["send 1 0"])
        #expect(home.subscribe(2).last == "send 2 0")
        #expect(home.unsubscribe(1).last == "send 1 0")
        let last = home.unsubscribe(2)
        #expect(last == ["notify subscriptionCount(0)", "notify vacated"])
    }

    @Test("A large channel announces its count every five seconds at most")
    func pacesCounts() throws {
        var features = AppFeatures()
        features.subscriptionCount = true
        let home = try Home("chat", features: features)
        for number in UInt64(1)...101 { _ = home.subscribe(number) }
        #expect(home.subscribe(102) == ["grant "])
        #expect(home.announceDueCounts() == [])
        home.now = CountNotices.interval
        #expect(home.announceDueCounts() == ["notify subscriptionCount(102)", "send 102 0"])
        #expect(home.state.areCountsAnnounced == false)
        home.now *= 2
        #expect(home.announceDueCounts() == [])
        #expect(home.state.areCountsAnnounced == true)
    }

    @Test(arguments: ["presence-x", "#server-to-user-1"])
    func otherChannelsAnnounceNoCount(channel: String) throws {
        var features = AppFeatures()
        features.subscriptionCount = true
        let home = try Home(channel, features: features)
        let effects = home.subscribe(1, as: channel.hasPrefix("presence") ? "ann" : nil)
        #expect(!effects.contains { $0.contains("send 1") })
    }

    @Test func knowsTheAuthorOfAClientEvent() throws {
        let presence = try Home("presence-x")
        _ = presence.subscribe(1, as: "ann")
        let name = presence.address.name
        let author = presence.home.author(SocketID(1, 1), on: name)
        #expect(author == ClientEventAuthor(socketID: SocketID(1, 1), user: UserID("ann")))
        #expect(presence.home.author(SocketID(2, 1), on: name) == nil)
        let other = try Home("private-x")
        let anonymous = other.home.author(SocketID(2, 1), on: other.address.name)
        #expect(anonymous == ClientEventAuthor(socketID: SocketID(2, 1)))
    }
}
