import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("The roster of a presence channel") struct SessionPresenceTests {
    private let channel = "presence-a"

    /// The data of a success with these members.
    private static func success(_ members: [String]) -> ServerMessage {
        let ids = members.map { "\"\($0)\"" }.joined(separator: ",")
        let hash = members.map { "\"\($0)\":{\"name\":\"\($0)!\"}" }.joined(separator: ",")
        let data = "{\"presence\":{\"ids\":[\(ids)],\"hash\":{\(hash)},\"count\":\(members.count)}}"
        return .subscriptionSucceeded(channel: "presence-a", data: data)
    }

    private func join(_ driver: inout SessionDriver, _ tickets: [Int], _ members: [String])
        -> PresenceChange?
    {
        let data = #"{"user_id":"ann"}"#
        let authorization = ChannelAuthorization(auth: "a", channelData: data)
        _ = driver.session.authorized(tickets[0], .success(authorization))
        return change(driver.receive(Self.success(members)))
    }

    private func change(_ effects: [SessionEffect]) -> PresenceChange? {
        for case .presence(channel, let change) in effects { return change }
        return nil
    }

    private func ids(_ driver: SessionDriver) -> [String]? {
        driver.session.subscriptions[of: channel]?.roster?.members.map(\.id)
    }

    private func joined(_ members: [String]) -> SessionDriver {
        var driver = SessionDriver.authorized()
        let tickets = driver.session.subscribe(to: channel).tickets
        _ = join(&driver, tickets, members)
        return driver
    }

    @Test func startsWithTheListOfMembers() {
        var driver = SessionDriver.authorized()
        let tickets = driver.session.subscribe(to: channel).tickets
        #expect(ids(driver) == nil)
        let change = join(&driver, tickets, ["bob", "ann"])
        #expect(change?.joined == [] && change?.left == [])
        #expect(change?.roster.members.map(\.id) == ["bob", "ann"])
        #expect(change?.roster.me?.id == "ann")
        #expect(change?.roster["bob"]?.info == #"{"name":"bob!"}"#)
        #expect(change?.roster["cid"] == nil)
        #expect(change?.roster.members.count == 2)
    }

    @Test func reportsJoinedAndLeftMembers() {
        var driver = joined(["ann"])
        let bob = PresenceMember(id: "bob", info: #"{"n":1}"#)
        let came = driver.receive(
            .memberAdded(channel: channel, userID: "bob", userInfo: #"{"n":1}"#)
        )
        #expect(came.delivered == ["pusher:member_added"])
        #expect(change(came)?.joined == [bob])
        #expect(ids(driver) == ["ann", "bob"])
        let went = driver.receive(.memberRemoved(channel: channel, userID: "ann"))
        #expect(went.delivered == ["pusher:member_removed"])
        #expect(change(went)?.left.map(\.id) == ["ann"])
        #expect(change(went)?.roster["bob"] == bob)
        #expect(ids(driver) == ["bob"])
    }

    @Test("No member joins twice, and only present members leave")
    func deduplicates() {
        var driver = joined(["ann"])
        #expect(driver.receive(.memberAdded(channel: channel, userID: "ann", userInfo: nil)) == [])
        #expect(driver.receive(.memberRemoved(channel: channel, userID: "bob")) == [])
        #expect(ids(driver) == ["ann"])
    }

    @Test("After a reconnection the list is the broker's, and the difference is told")
    func isExactAfterReconnection() {
        var driver = joined(["ann", "bob", "cid"])
        _ = driver.close(4200)
        #expect(ids(driver) == ["ann", "bob", "cid"])
        let change = join(&driver, driver.greet().tickets, ["ann", "cid", "dan", "eve"])
        #expect(change?.joined.map(\.id) == ["dan", "eve"])
        #expect(change?.left.map(\.id) == ["bob"])
        #expect(ids(driver) == ["ann", "cid", "dan", "eve"])
    }

    @Test("Any history of coming, going and reconnecting ends with the broker's list")
    func converges() {
        var random = SystemRandomNumberGenerator()
        let everybody = (0..<12).map { "u\($0)" }
        for _ in 0..<200 {
            var driver = joined(["ann"])
            // What a consumer of joined and left alone would believe.
            var believed: Set<String> = ["ann"]
            var truth: Set<String> = ["ann"]
            func take(_ effects: [SessionEffect]) {
                for case .presence(_, let change) in effects {
                    for member in change.joined { #expect(believed.insert(member.id).inserted) }
                    for member in change.left { #expect(believed.remove(member.id) != nil) }
                }
            }
            for _ in 0..<40 {
                let user = everybody.randomElement(using: &random) ?? ""
                switch Int.random(in: 0..<5, using: &random) {
                case 0, 1:
                    truth.insert(user)
                    take(
                        driver.receive(.memberAdded(channel: channel, userID: user, userInfo: nil))
                    )
                case 2:
                    truth.remove(user)
                    take(driver.receive(.memberRemoved(channel: channel, userID: user)))
                default:
                    _ = driver.close(4200)
                    _ = driver.session.connect()
                    truth.formSymmetricDifference(everybody.shuffled(using: &random).prefix(3))
                    let ticket = driver.greet().tickets[0]
                    let data = #"{"user_id":"ann"}"#
                    _ = driver.session.authorized(
                        ticket,
                        .success(ChannelAuthorization(auth: "a", channelData: data))
                    )
                    take(driver.receive(Self.success(truth.shuffled(using: &random))))
                }
            }
            #expect(Set(ids(driver) ?? []) == truth)
            #expect(believed == truth)
            #expect(ids(driver)?.count == truth.count)
        }
    }

    @Test("A channel that is left, refused or disconnected has no members")
    func cancelsRequests() {
        var left = joined(["ann"])
        _ = left.session.unsubscribe(from: channel)
        #expect(ids(left) == nil)

        var disconnected = joined(["ann"])
        _ = disconnected.session.disconnect()
        #expect(ids(disconnected) == nil)
        _ = disconnected.session.connect()
        let change = join(&disconnected, disconnected.greet().tickets, ["ann", "bob"])
        #expect(change?.joined == [])

        var refused = joined(["ann"])
        _ = refused.close(4200)
        let ticket = refused.greet().tickets[0]
        _ = refused.session.authorized(ticket, .failure(.refused(status: 403, body: "")))
        #expect(ids(refused) == nil)
    }

    @Test("Ids may be numbers, and a success without members has none")
    func readsLeniently() {
        let data = #"{"presence":{"hash":{"12345678901234567890":null,"7":{"a":[1]}}}}"#
        #expect(
            PresenceMember.members(inSuccess: data) == [
                PresenceMember(id: "12345678901234567890"),
                PresenceMember(id: "7", info: #"{"a":[1]}"#),
            ]
        )
        for data in ["", "{}", #"{"presence":[]}"#, #"{"presence":{"hash":[]}}"#] {
            #expect(PresenceMember.members(inSuccess: data) == [])
        }
    }

    @Test("What a broker may make this client remember is bounded, and told")
    func bounds() {
        var driver = SessionDriver.authorized { $0.membersMax = 2 }
        let tickets = driver.session.subscribe(to: channel).tickets
        let data = #"{"user_id":"ann"}"#
        let authorization = ChannelAuthorization(auth: "a", channelData: data)
        _ = driver.session.authorized(tickets[0], .success(authorization))
        #expect(driver.receive(Self.success(["ann", "bob", "cid"])).reports.count == 1)
        #expect(ids(driver) == ["ann", "bob"])
        let effects = driver.receive(.memberAdded(channel: channel, userID: "dan", userInfo: nil))
        #expect(effects.reports.count == 1)
        #expect(ids(driver) == ["ann", "bob"])
    }
}
