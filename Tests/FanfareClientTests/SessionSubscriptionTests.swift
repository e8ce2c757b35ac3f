import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Subscriptions of a session") struct SessionSubscriptionTests {
    private let event = ServerMessage.event(ReceivedEvent(name: "e", channel: "a", data: "1"))
    private let delivery = SessionEffect.deliver(ChannelEvent(name: "e", channel: "a", data: "1"))
    private let success = ServerMessage.subscriptionSucceeded(channel: "a", data: "{}")
    private let confirmation: [SessionEffect] = [
        .subscribed(channel: "a"),
        .continuity(channel: "a", .unknown),
        .deliver(
            ChannelEvent(name: "pusher:subscription_succeeded", channel: "a", data: "{}")
        ),
    ]
    private let refusal = ServerMessage.subscriptionError(
        channel: "a",
        type: "AuthError",
        message: "no",
        status: 401
    )
    private let gone = SessionEffect.refused(channel: "a", .unsubscribed(channel: "a"))

    @Test func waitsForTheConnectionAndKeepsTheOrder() {
        var driver = SessionDriver()
        for channel in ["c", "a", "b", "a"] { #expect(driver.session.subscribe(to: channel) == []) }
        _ = driver.session.connect()
        #expect(driver.session.subscribe(to: "d") == [])
        let sent = driver.greet().dropFirst(2)
        #expect(Array(sent) == ["c", "a", "b", "d"].map { .send(.subscribe($0)) })
    }

    @Test func subscribesAtOnceWhenConnectedAndOnlyOnce() {
        var driver = SessionDriver.connected()
        #expect(driver.session.subscribe(to: "a") == [.send(.subscribe("a"))])
        #expect(driver.session.subscribe(to: "a") == [])
        #expect(driver.receive(success) == confirmation)
        #expect(driver.session.subscription(to: "a") == .subscribed)
        #expect(driver.session.subscribe(to: "a") == [])
        #expect(driver.receive(success) == [])
    }

    @Test func subscribesAgainAfterEveryReconnection() {
        var driver = SessionDriver.connected(to: ["a", "b"])
        _ = driver.session.subscribe(to: "c")
        for _ in 0..<3 {
            driver.now += .seconds(60)
            _ = driver.close(1006)
            #expect(driver.session.subscription(to: "a") == .wanted)
            _ = driver.fire(after: .seconds(60))
            let sent = driver.greet().dropFirst(2)
            #expect(Array(sent) == ["a", "b", "c"].map { .send(.subscribe($0)) })
            var again = confirmation
            again.insert(.gap(channel: "a", Gap(.brokerHasNoHistory)), at: 2)
            #expect(driver.receive(success) == again)
        }
    }

    @Test func deliversOnlyWhileSubscribed() {
        var driver = SessionDriver.connected()
        #expect(driver.receive(event) == [])
        _ = driver.session.subscribe(to: "a")
        _ = driver.receive(success)
        #expect(driver.receive(event) == [delivery])
        #expect(
            driver.session.unsubscribe(from: "a") == [.send(.unsubscribe(channel: "a")), gone]
        )
        #expect(driver.receive(event) == [])
        #expect(driver.session.unsubscribe(from: "a") == [])
    }

    @Test func deliversEventsWithoutAChannel() {
        var driver = SessionDriver.connected()
        let message = ServerMessage.event(ReceivedEvent(name: "e", channel: nil, data: nil))
        #expect(
            driver.receive(message)
                == [.deliver(ChannelEvent(name: "e", channel: nil, data: nil))]
        )
    }

    @Test func unsubscribesAPendingSubscriptionAfterItsAnswer() {
        var driver = SessionDriver.connected()
        _ = driver.session.subscribe(to: "a")
        #expect(driver.session.unsubscribe(from: "a") == [gone])
        #expect(driver.receive(event) == [])
        #expect(driver.receive(success) == [.send(.unsubscribe(channel: "a"))])
        #expect(driver.session.subscription(to: "a") == nil)

        _ = driver.session.subscribe(to: "a")
        _ = driver.session.unsubscribe(from: "a")
        #expect(driver.receive(refusal) == [])
        #expect(driver.session.subscription(to: "a") == nil)
    }

    @Test func makesOneSubscriptionOfAQuickBackAndForth() {
        var driver = SessionDriver.connected()
        #expect(driver.session.subscribe(to: "a") == [.send(.subscribe("a"))])
        #expect(driver.session.unsubscribe(from: "a") == [gone])
        #expect(driver.session.subscribe(to: "a") == [])
        #expect(driver.receive(success) == confirmation)
        #expect(driver.receive(event) == [delivery])
    }

    @Test func removesCancelledSubscriptionsWhenTheConnectionIsLost() {
        var driver = SessionDriver.connected()
        _ = driver.session.subscribe(to: "a")
        _ = driver.session.unsubscribe(from: "a")
        _ = driver.session.subscribe(to: "b")
        _ = driver.close(4200)
        #expect(driver.greet().dropFirst(2) == [.send(.subscribe("b"))])
    }

    @Test func reportsARefusalAndRetriesOnTheNextConnection() {
        var driver = SessionDriver.connected()
        _ = driver.session.subscribe(to: "a")
        let data = #"{"type":"AuthError","error":"no","status":401}"#
        let error = FanfareError.subscriptionRefused(
            channel: "a",
            kind: "AuthError",
            message: "no",
            status: 401
        )
        #expect(
            driver.receive(refusal) == [
                .deliver(
                    ChannelEvent(name: "pusher:subscription_error", channel: "a", data: data)
                ),
                .refused(channel: "a", error),
            ]
        )
        #expect(driver.receive(event) == [])
        #expect(driver.session.subscribe(to: "a") == [.send(.subscribe("a"))])
        _ = driver.receive(refusal)
        _ = driver.close(4200)
        #expect(driver.greet().last == .send(.subscribe("a")))
    }

    @Test func keepsChannelsThroughADisconnect() {
        var driver = SessionDriver.connected(to: ["a"])
        _ = driver.session.disconnect()
        #expect(driver.session.subscription(to: "a") == .wanted)
        _ = driver.session.connect()
        #expect(driver.greet().last == .send(.subscribe("a")))
    }

    @Test func showsTheProtocolsEventsUnderTheirPublicNames() {
        var driver = SessionDriver.connected(to: ["a"])
        let expected: [(ServerMessage, String, String)] = [
            (
                .subscriptionCount(channel: "a", count: 3), "subscription_count",
                #"{"subscription_count":3}"#
            ),
            (
                .memberAdded(channel: "a", userID: "u", userInfo: #"{"n":1}"#), "member_added",
                #"{"user_id":"u","user_info":{"n":1}}"#
            ),
            (
                .memberAdded(channel: "a", userID: "u", userInfo: nil), "member_added",
                #"{"user_id":"u"}"#
            ),
            (.memberRemoved(channel: "a", userID: "u"), "member_removed", #"{"user_id":"u"}"#),
            (.cacheMiss(channel: "a"), "cache_miss", "{}"),
        ]
        for (message, name, data) in expected {
            let event = ChannelEvent(name: "pusher:" + name, channel: "a", data: data)
            #expect(driver.receive(message) == [.deliver(event)])
        }
        let unknown = ReceivedEvent(name: "pusher_internal:new", channel: "a", data: "{}")
        #expect(driver.receive(.event(unknown)) == [])
    }
}
