import Broker
import PusherProtocol
import Testing

@Suite("Watched users of a cluster") struct WatchedUsersTests {
    private let app = AppID("1")
    private let users = ["a", "b", "c"].map { UserID($0) }

    private func watcher(_ number: UInt64, shard: Int = 0) -> UserHome.Watcher {
        UserHome.Watcher(shard: shard, socketID: SocketID(number, 1))
    }

    private func address(_ user: UserID) -> UserAddress { UserAddress(app: app, id: user) }

    @Test func areReadOnceAndReportedWhenKnown() {
        var watched = WatchedUsers()
        let first = watched.watch(users, of: app, by: watcher(1))
        #expect(first.report.isEmpty && first.added == users.map(address))
        let online = watched.update(address(users[0]), isOnline: true)
        #expect(online.map(\.online) == [[users[0]]])
        #expect(online.map(\.watchers) == [[watcher(1).socketID]])
        #expect(watched.update(address(users[1]), isOnline: false).map(\.offline) == [[users[1]]])
        #expect(watched.update(address(users[0]), isOnline: true).isEmpty)
        // What is known is told at once.
        let second = watched.watch(users, of: app, by: watcher(2, shard: 1))
        #expect(second.added.isEmpty && second.report.shard == 1)
        #expect(second.report.online == [users[0]] && second.report.offline == [users[1]])
        let reports = watched.update(address(users[2]), isOnline: true)
        #expect(Set(reports.map(\.shard)) == [0, 1])
    }

    @Test func areForgottenWithTheirLastWatcher() {
        var watched = WatchedUsers()
        _ = watched.watch(users, of: app, by: watcher(1))
        _ = watched.watch([users[0]], of: app, by: watcher(2))
        #expect(watched.unwatch(users, of: app, by: watcher(1)) == users.dropFirst().map(address))
        #expect(watched.unwatch(users, of: app, by: watcher(1)).isEmpty)
        #expect(Array(watched.addresses) == [address(users[0])])
        #expect(watched.update(address(users[1]), isOnline: true).isEmpty)
        #expect(watched.unwatch(users, of: app, by: watcher(2)) == [address(users[0])])
        #expect(watched.addresses.isEmpty)
    }

    @Test func areReportedAgainWhenTheirStatesWereForgotten() {
        var watched = WatchedUsers()
        _ = watched.watch(users, of: app, by: watcher(1))
        _ = watched.update(address(users[0]), isOnline: true)
        watched.forgetStates(of: Array(watched.addresses))
        let late = watched.watch([users[0]], of: app, by: watcher(2))
        #expect(late.report.isEmpty && late.added.isEmpty)
        let reports = watched.update(address(users[0]), isOnline: true)
        #expect(reports.map { Set($0.watchers) } == [[watcher(1).socketID, watcher(2).socketID]])
    }
}
