import FanfareTesting
import Foundation
import PusherSwift
import Testing

@Suite("PusherSwift: presence channels", .timeLimit(.minutes(1))) @MainActor
struct PresenceTests {
    /// A user on a presence channel, authorised with the app's secret.
    @MainActor private final class Guest {
        let pusher: Pusher
        let channel: PusherPresenceChannel
        private(set) var seen: [String] = []

        init(_ broker: ScriptedBroker, _ name: String) {
            let options = broker.options(.inline(secret: broker.settings.secret))
            pusher = Pusher(key: "app-key", options: options)
            pusher.connection.userDataFetcher = {
                PusherPresenceChannelMember(userId: name, userInfo: ["name": name.uppercased()])
            }
            channel = pusher.subscribeToPresenceChannel(channelName: "presence-room")
            channel.onMemberAdded = { [unowned self] in seen.append("+\($0.userId)") }
            channel.onMemberRemoved = { [unowned self] in seen.append("-\($0.userId)") }
            channel.bind(eventName: "pusher:subscription_succeeded") { [unowned self] _ in
                let ids = channel.members.map(\.userId).sorted()
                seen.append("in \(ids.joined(separator: ","))")
            }
            pusher.connect()
        }
    }

    @Test func reportMembersJoinsAndLeaves() async throws {
        let broker = ScriptedBroker.strict()
        let ann = Guest(broker, "ann")
        try await broker.waitForSubscribers(to: "presence-room")
        let ben = Guest(broker, "ben")
        try await broker.waitForSubscribers(2, to: "presence-room")
        try await broker.settle()
        #expect(ann.seen == ["in ann", "+ben"])
        // Earlier members are not reported as joined.
        #expect(ben.seen == ["in ann,ben"])
        #expect(ann.channel.members.count == 2)
        #expect(ann.channel.myId == "ann")
        #expect(ann.channel.me()?.userId == "ann")
        let found = ann.channel.findMember(userId: "ben")
        #expect((found?.userInfo as? [String: AnyObject])?["name"] as? String == "BEN")
        // Each member is one object.
        #expect(found === ann.channel.members.last)
        #expect(ann.channel.findMember(userId: "cat") == nil)
        ben.pusher.unsubscribe("presence-room")
        try await broker.settle()
        #expect(ann.seen == ["in ann", "+ben", "-ben"])
        #expect(ann.channel.members.map(\.userId) == ["ann"])
    }

    @Test("Lists are exact after a lost connection, without duplicates")
    func areExactAfterALostConnection() async throws {
        let broker = ScriptedBroker.strict()
        let ann = Guest(broker, "ann")
        let ben = Guest(broker, "ben")
        try await broker.waitForSubscribers(2, to: "presence-room")
        try await broker.settle()
        try broker.cut(try #require(ann.pusher.connection.socketId))
        try await broker.settle()
        ben.pusher.disconnect()
        let cat = Guest(broker, "cat")
        try await broker.waitForSubscribers(to: "presence-room")
        try await broker.advance(by: .seconds(121))
        try await broker.waitForSubscribers(2, to: "presence-room")
        try await broker.settle()
        #expect(Set(ann.channel.members.map(\.userId)) == ["ann", "cat"])
        #expect(ann.channel.members.count == 2)
        #expect(ann.seen.suffix(2).sorted() == ["+cat", "-ben"])
        cat.pusher.disconnect()
    }

    @Test func areMadeByAPlainSubscription() async throws {
        let broker = ScriptedBroker.strict()
        let options = broker.options(.inline(secret: broker.settings.secret))
        let pusher = Pusher(key: "app-key", options: options)
        var added: [String] = []
        let channel = pusher.subscribe(
            "presence-room",
            onMemberAdded: { added.append($0.userId) }
        )
        #expect(channel.type == .presence)
        #expect(pusher.connection.channels.findPresence(name: "presence-room") === channel)
        #expect((channel as? PusherPresenceChannel)?.members.isEmpty == true)
        pusher.connect()
        try await broker.waitForSubscribers(to: "presence-room")
        // Without a user, the socket ID is the user ID.
        #expect(broker.members(of: "presence-room") == ["1.1"])
        let ann = Guest(broker, "ann")
        try await broker.waitForSubscribers(2, to: "presence-room")
        try await broker.settle()
        #expect(added == ["ann"])
        ann.pusher.disconnect()
    }
}
