import PusherProtocol
import Testing
import TestRandom

@testable import Broker

private func user(_ id: String, of app: String = "1") -> UserAddress {
    UserAddress(app: AppID(app), id: UserID(id))
}

private func watcher(_ number: UInt64) -> UserHome.Watcher {
    UserHome.Watcher(shard: 0, socketID: SocketID(number, 1))
}

/// A class, because `#expect` takes no mutating calls.
private final class Home {
    private var home = UserHome()
    var count: Int { home.count }
    var nextDeparture: Int64? { home.nextDeparture }
    func isOnline(_ user: UserAddress) -> Bool { home.isOnline(user) }
    func signIn(_ user: UserAddress) -> Set<SocketID> {
        Set(home.signIn(user).filter { $0.online == [user.id] }.flatMap(\.watchers))
    }
    func signOut(_ user: UserAddress, at now: Int64) { home.signOut(user, at: now) }
    func removeDeparted(at now: Int64) -> [UserHome.Report] { home.removeDeparted(at: now) }
    func watch(_ user: UserAddress, by watcher: UserHome.Watcher) -> Bool {
        home.watch([user.id], of: user.app, by: watcher).online == [user.id]
    }
    func unwatch(_ user: UserAddress, by watcher: UserHome.Watcher) {
        home.unwatch([user.id], of: user.app, by: watcher)
    }
}

@Suite("Presence of users, and reports to watchers") struct UserHomeTests {
    @Test func onlyTheFirstConnectionOfAUserIsReported() {
        let home = Home()
        #expect(!home.watch(user("ann"), by: watcher(1)))
        #expect(home.signIn(user("ann")) == [watcher(1).socketID])
        #expect(home.signIn(user("ann")).isEmpty)
        #expect(home.isOnline(user("ann")))
        #expect(!home.isOnline(user("ann", of: "2")))
    }

    @Test func onlyTheLastConnectionIsReportedAfterADelay() {
        let home = Home()
        #expect(home.signIn(user("ann")).isEmpty)
        #expect(home.signIn(user("ann")).isEmpty)
        #expect(home.watch(user("ann"), by: watcher(1)))
        home.signOut(user("ann"), at: 0)
        #expect(home.nextDeparture == nil)
        home.signOut(user("ann"), at: 10)
        #expect(home.nextDeparture == 3_010)
        #expect(home.removeDeparted(at: 3_009).isEmpty)
        let departures = home.removeDeparted(at: 3_010)
        #expect(departures.map(\.offline) == [[UserID("ann")]])
        #expect(departures.first?.watchers == [watcher(1).socketID])
        #expect(!home.isOnline(user("ann")))
        #expect(home.removeDeparted(at: 9_000).isEmpty)
    }

    @Test func whoLoadsAPageAnewHasNotBeenAway() {
        let home = Home()
        _ = home.watch(user("ann"), by: watcher(1))
        _ = home.signIn(user("ann"))
        home.signOut(user("ann"), at: 0)
        #expect(home.isOnline(user("ann")))
        #expect(home.signIn(user("ann")).isEmpty)
        #expect(home.removeDeparted(at: 3_000).isEmpty)
        home.signOut(user("ann"), at: 4_000)
        #expect(home.removeDeparted(at: 6_999).isEmpty)
        #expect(home.removeDeparted(at: 7_000).count == 1)
    }

    @Test func unwatchedUsersAreNotReported() {
        let home = Home()
        _ = home.watch(user("ann"), by: watcher(1))
        _ = home.watch(user("ann"), by: watcher(2))
        home.unwatch(user("ann"), by: watcher(1))
        home.unwatch(user("bob"), by: watcher(1))
        #expect(home.signIn(user("ann")) == [watcher(2).socketID])
    }

    @Test func removesUnusedUsers() {
        let home = Home()
        var random = SeededRandom(seed: 7)
        var connections: [UserAddress: Int] = [:]
        var watched: [UserAddress: Set<UInt64>] = [:]
        var now: Int64 = 0
        for _ in 0..<20_000 {
            now += .random(in: 0...400, using: &random)
            let user = user("\(Int.random(in: 0..<20, using: &random))")
            let number = UInt64.random(in: 0..<5, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0:
                _ = home.signIn(user)
                connections[user, default: 0] += 1
            case 1 where connections[user, default: 0] > 0:
                home.signOut(user, at: now)
                connections[user, default: 0] -= 1
            case 2:
                _ = home.watch(user, by: watcher(number))
                watched[user, default: []].insert(number)
            case 3:
                home.unwatch(user, by: watcher(number))
                watched[user]?.remove(number)
            default:
                for departure in home.removeDeparted(at: now) {
                    for id in departure.offline {
                        let user = UserAddress(app: AppID("1"), id: id)
                        #expect(connections[user] == 0)
                        let expected = Set((watched[user] ?? []).map { watcher($0).socketID })
                        #expect(Set(departure.watchers) == expected)
                    }
                }
            }
            if connections[user, default: 0] > 0 { #expect(home.isOnline(user)) }
        }
        for (user, count) in connections {
            for _ in 0..<count { home.signOut(user, at: now) }
            for number in watched[user] ?? [] { home.unwatch(user, by: watcher(number)) }
        }
        _ = home.removeDeparted(at: now + UserHome.absenceMax)
        #expect(home.count == 0)
    }
}
