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

    private func receive(_ data: String, _ driver: inout SessionDriver) -> [SessionEffect] {
        driver.receive(.event(ReceivedEvent(name: "e", channel: channel, data: data)))
    }

    private func texts(_ effects: [SessionEffect]) -> [String?] {
        effects.compactMap { if case .deliver(let event, _) = $0 { event.data } else { nil } }
    }

    @Test func opensEvents() {
        var driver = driver()
        #expect(texts(receive("old:cba", &driver)) == ["abc"])
        let miss = driver.receive(.cacheMiss(channel: channel))
        #expect(miss.delivered == ["pusher:cache_miss"])
    }

    @Test("Without a decrypter the error says what to do")
    func needsADecrypter() {
        var driver = SessionDriver.authorized()
        let refusals = driver.session.subscribe(to: channel).refusals
        #expect(refusals == [.decrypterMissing(channel: channel)])
        #expect(refusals.first?.description.contains("FanfareEncryption") == true)
    }

    @Test("A new key is requested once, and events wait in order meanwhile")
    func requestsTheNewKey() {
        var driver = driver()
        let tickets = receive("new:1", &driver).tickets
        #expect(tickets.count == 1)
        #expect(receive("new:2", &driver) == [])
        #expect(receive("new:3", &driver) == [])
        let authorization = ChannelAuthorization(auth: "a", sharedSecret: "new")
        let effects = driver.session.authorized(tickets[0], .success(authorization))
        #expect(texts(effects) == ["1", "2", "3"])
        #expect(effects.sent == [])
        #expect(texts(receive("new:4", &driver)) == ["4"])
    }

    @Test("An event that no key decrypts is reported and skipped")
    func skips() {
        var driver = driver()
        let ticket = receive("other:1", &driver).tickets[0]
        #expect(receive("old:2", &driver) == [])
        #expect(receive("other:3", &driver) == [])
        let same = ChannelAuthorization(auth: "a", sharedSecret: "old")
        let effects = driver.session.authorized(ticket, .success(same))
        #expect(texts(effects) == ["2"])
        // The key has not changed: it is not requested again for the third event.
        #expect(effects.tickets == [])
        #expect(effects.reports.allSatisfy { $0.code == .undecryptable })
        #expect(effects.reports.map(\.event?.data) == ["other:1", "other:3"])
        #expect(effects.reports.allSatisfy { !$0.description.contains("old") })
    }

    @Test("Another key is requested ten seconds after the last request, not sooner")
    func requestsAKeyAtMostOnceInTenSeconds() throws {
        var driver = driver()
        let first = receive("new:1", &driver).tickets[0]
        #expect(receive("newest:2", &driver) == [])
        let new = ChannelAuthorization(auth: "a", sharedSecret: "new")
        let effects = driver.session.authorized(first, .success(new))
        #expect(texts(effects) == ["1"])
        #expect(effects.tickets == [] && effects.reports.map(\.event?.data) == ["newest:2"])

        driver.now += .milliseconds(9_999)
        let skipped = receive("newest:3", &driver)
        #expect(skipped.tickets == [] && skipped.reports.map(\.code) == [.undecryptable])
        // Events under the known key do not wait.
        #expect(texts(receive("new:4", &driver)) == ["4"])

        driver.now += .milliseconds(1)
        let second = receive("newest:5", &driver).tickets
        #expect(second.count == 1)
        let ticket = try #require(second.first)
        #expect(receive("newest:6", &driver) == [])
        let newest = ChannelAuthorization(auth: "a", sharedSecret: "newest")
        #expect(texts(driver.session.authorized(ticket, .success(newest))) == ["5", "6"])
    }

    @Test("The limit of key requests is by channel")
    func limitsKeyRequestsByChannel() {
        var driver = driver()
        let ticket = receive("other:1", &driver).tickets[0]
        _ = driver.session.authorized(
            ticket,
            .success(ChannelAuthorization(auth: "a", sharedSecret: "old"))
        )
        #expect(receive("other:2", &driver).tickets == [])
        let another = "private-encrypted-b"
        let authorization = ChannelAuthorization(auth: "a", sharedSecret: "old")
        let join = driver.session.subscribe(to: another).tickets[0]
        _ = driver.session.authorized(join, .success(authorization))
        _ = driver.receive(.subscriptionSucceeded(channel: another, data: "{}"))
        let event = ReceivedEvent(name: "e", channel: another, data: "other:3")
        #expect(driver.receive(.event(event)).tickets.count == 1)
    }

    @Test("An event that is not encrypted is reported without a request for a key")
    func malformed() {
        var driver = driver()
        let effects = receive("plain", &driver)
        #expect(effects.tickets == [] && effects.reports.count == 1)
    }

    @Test("A failed request for a key is reported, with the events that waited")
    func failure() {
        var driver = driver()
        let ticket = receive("new:1", &driver).tickets[0]
        #expect(receive("old:2", &driver) == [])
        let failure = AuthorizationFailure.refused(status: 403, body: "")
        let effects = driver.session.authorized(ticket, .failure(failure))
        #expect(effects.reports.first == .authorizationFailed(channel: channel, failure))
        #expect(effects.reports.count == 2)
        #expect(texts(effects) == ["2"])
    }

    @Test("Events that wait for a key are kept while the connection is lost")
    func survivesReconnection() {
        var driver = driver()
        let lost = receive("new:1", &driver).tickets
        #expect(driver.close(4200).contains(.cancel(tickets: lost)))
        let ticket = driver.greet().tickets[0]
        let authorization = ChannelAuthorization(auth: "a", sharedSecret: "new")
        _ = driver.session.authorized(ticket, .success(authorization))
        let effects = driver.receive(.subscriptionSucceeded(channel: channel, data: "{}"))
        #expect(effects.delivered == ["pusher:subscription_succeeded", "e"])
    }

    @Test("The events that wait for a key are bounded, and dropped ones are reported")
    func bounds() {
        var driver = driver()
        let ticket = receive("new:0", &driver).tickets[0]
        var reports = 0
        for _ in 0..<(ChannelDecryption.heldCountMax + 5) {
            reports += receive("new:1", &driver).reports.count
        }
        #expect(reports == 6)
        let authorization = ChannelAuthorization(auth: "a", sharedSecret: "new")
        let effects = driver.session.authorized(ticket, .success(authorization))
        #expect(texts(effects).count == ChannelDecryption.heldCountMax)
    }

    @Test("Nothing is delivered after unsubscribing")
    func leaves() {
        var driver = driver()
        let tickets = receive("new:1", &driver).tickets
        #expect(driver.session.unsubscribe(from: channel).contains(.cancel(tickets: tickets)))
        let authorization = ChannelAuthorization(auth: "a", sharedSecret: "new")
        #expect(driver.session.authorized(tickets[0], .success(authorization)) == [])
    }
}
