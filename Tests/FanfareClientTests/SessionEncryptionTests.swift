import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Encrypted channels of a session") struct SessionEncryptionTests {
    private let channel = "private-encrypted-a"

    private func driver() -> SessionDriver {
        var driver = SessionDriver.authorized { $0.decrypter = ReversingDecrypter() }
        join(&driver, with: driver.session.subscribe(to: channel).tickets[0], key: "old")
        return driver
    }

    private func join(_ driver: inout SessionDriver, with ticket: Int, key: String) {
        let authorization = ChannelAuthorization(auth: "a", sharedSecret: key)
        #expect(driver.session.authorized(ticket, .success(authorization)).sent.count == 1)
        _ = driver.receive(.subscriptionSucceeded(channel: channel, data: "{}"))
    }

    private func say(_ data: String, _ driver: inout SessionDriver) -> [SessionEffect] {
        driver.receive(.event(ReceivedEvent(name: "e", channel: channel, data: data)))
    }

    private func texts(_ effects: [SessionEffect]) -> [String?] {
        effects.compactMap { if case .deliver(let event) = $0 { event.data } else { nil } }
    }

    @Test func opensEvents() {
        var driver = driver()
        #expect(texts(say("old:cba", &driver)) == ["abc"])
        let miss = driver.receive(.cacheMiss(channel: channel))
        #expect(miss.delivered == ["pusher:cache_miss"])
    }

    @Test("Without anything to open events with, the channel says what to do")
    func needsADecrypter() {
        var driver = SessionDriver.authorized()
        let refusals = driver.session.subscribe(to: channel).refusals
        #expect(refusals == [.decrypterMissing(channel: channel)])
        #expect(refusals.first?.description.contains("FanfareEncryption") == true)
    }

    @Test("A key is asked for once more, and what comes meanwhile waits in order")
    func asksForTheNewKey() {
        var driver = driver()
        let tickets = say("new:1", &driver).tickets
        #expect(tickets.count == 1)
        #expect(say("new:2", &driver) == [])
        #expect(say("new:3", &driver) == [])
        let authorization = ChannelAuthorization(auth: "a", sharedSecret: "new")
        let effects = driver.session.authorized(tickets[0], .success(authorization))
        #expect(texts(effects) == ["1", "2", "3"])
        #expect(effects.sent == [])
        #expect(texts(say("new:4", &driver)) == ["4"])
    }

    @Test("What no key opens is reported and skipped, and the rest goes on")
    func skips() {
        var driver = driver()
        let ticket = say("other:1", &driver).tickets[0]
        #expect(say("old:2", &driver) == [])
        #expect(say("other:3", &driver) == [])
        let same = ChannelAuthorization(auth: "a", sharedSecret: "old")
        let effects = driver.session.authorized(ticket, .success(same))
        #expect(texts(effects) == ["2"])
        // The key has not changed, so there is no use in asking for it again for the third.
        #expect(effects.tickets == [])
        let skipped = effects.reports.map { error -> String? in
            if case .undecryptable(let event, _) = error { event.data } else { nil }
        }
        #expect(skipped == ["other:1", "other:3"])
        #expect(effects.reports.allSatisfy { !$0.description.contains("old") })
    }

    @Test("Each event that a changed key does not fit has a chance of its own")
    func asksForEach() {
        var driver = driver()
        let first = say("new:1", &driver).tickets[0]
        #expect(say("newest:2", &driver) == [])
        #expect(say("newest:3", &driver) == [])
        let new = ChannelAuthorization(auth: "a", sharedSecret: "new")
        let effects = driver.session.authorized(first, .success(new))
        #expect(texts(effects) == ["1"])
        let newest = ChannelAuthorization(auth: "a", sharedSecret: "newest")
        let second = effects.tickets
        #expect(second.count == 1)
        #expect(texts(driver.session.authorized(second[0], .success(newest))) == ["2", "3"])
    }

    @Test("What is not encrypted at all is reported without asking for a key")
    func malformed() {
        var driver = driver()
        let effects = say("plain", &driver)
        #expect(effects.tickets == [] && effects.reports.count == 1)
    }

    @Test("A key that cannot be had is told, and what waits is reported")
    func failure() {
        var driver = driver()
        let ticket = say("new:1", &driver).tickets[0]
        #expect(say("old:2", &driver) == [])
        let failure = AuthorizationFailure.refused(status: 403, body: "")
        let effects = driver.session.authorized(ticket, .failure(failure))
        #expect(effects.reports.first == .authorizationFailed(channel: channel, failure))
        #expect(effects.reports.count == 2)
        #expect(texts(effects) == ["2"])
    }

    @Test("What waits for a key waits through a lost connection")
    func survivesReconnection() {
        var driver = driver()
        let lost = say("new:1", &driver).tickets
        #expect(driver.close(4200).contains(.forget(tickets: lost)))
        let ticket = driver.greet().tickets[0]
        let authorization = ChannelAuthorization(auth: "a", sharedSecret: "new")
        _ = driver.session.authorized(ticket, .success(authorization))
        let effects = driver.receive(.subscriptionSucceeded(channel: channel, data: "{}"))
        #expect(effects.delivered == ["pusher:subscription_succeeded", "e"])
    }

    @Test("What waits for a key is bounded, and what is dropped is told")
    func bounds() {
        var driver = driver()
        let ticket = say("new:0", &driver).tickets[0]
        var reports = 0
        for _ in 0..<(ChannelDecryption.heldCountMax + 5) {
            reports += say("new:1", &driver).reports.count
        }
        #expect(reports == 6)
        let authorization = ChannelAuthorization(auth: "a", sharedSecret: "new")
        let effects = driver.session.authorized(ticket, .success(authorization))
        #expect(texts(effects).count == ChannelDecryption.heldCountMax)
    }

    @Test("Nothing is delivered once the channel is left")
    func leaves() {
        var driver = driver()
        let tickets = say("new:1", &driver).tickets
        #expect(driver.session.unsubscribe(from: channel).contains(.forget(tickets: tickets)))
        let authorization = ChannelAuthorization(auth: "a", sharedSecret: "new")
        #expect(driver.session.authorized(tickets[0], .success(authorization)) == [])
    }
}
