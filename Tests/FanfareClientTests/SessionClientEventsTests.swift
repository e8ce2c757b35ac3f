import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Client events of a session") struct SessionClientEventsTests {
    private let channel = "private-a"
    private let signed = ChannelAuthorization(auth: "a")

    private func subscribed(
        _ change: (inout Outbox.Limits) -> Void = { _ in }
    ) -> SessionDriver {
        var driver = SessionDriver.authorized { change(&$0.outbox) }
        let ticket = driver.session.subscribe(to: channel).tickets[0]
        _ = driver.session.authorized(ticket, .success(signed))
        _ = driver.receive(.subscriptionSucceeded(channel: channel, data: "{}"))
        return driver
    }

    private func message(_ name: String, _ json: String) -> ClientMessage {
        .clientEvent(
            ClientEvent(
                nameToken: JSONWriter.token(name),
                channel: channel,
                dataToken: Array(json.utf8)
            )
        )
    }

    private func trigger(
        _ name: String = "client-e",
        on channel: String? = nil,
        _ json: String = "{}",
        _ driver: inout SessionDriver
    ) throws(FanfareError) -> (effects: [SessionEffect], wasSent: Bool) {
        try driver.session.trigger(
            name,
            on: channel ?? self.channel,
            json: Array(json.utf8),
            at: driver.now
        )
    }

    @Test func areSentAtOnceWithTheirDataAsJSON() throws {
        var driver = subscribed()
        let (effects, wasSent) = try trigger("client-e", #"{"a":[1,"ż"]}"#, &driver)
        #expect(effects.sent == [message("client-e", #"{"a":[1,"ż"]}"#)])
        #expect(wasSent)
        var text: [UInt8] = []
        effects.sent[0].append(to: &text)
        #expect(
            String(decoding: text, as: UTF8.self)
                == #"{"event":"client-e","channel":"private-a","data":{"a":[1,"ż"]}}"#
        )
    }

    @Test("They wait for the subscription, and are sent in order after it")
    func wait() throws {
        var driver = SessionDriver.authorized()
        let ticket = driver.session.subscribe(to: channel).tickets[0]
        for number in 1...3 {
            let (effects, wasSent) = try trigger("client-e", "\(number)", &driver)
            #expect(effects == [] && !wasSent)
        }
        _ = driver.session.authorized(ticket, .success(signed))
        let effects = driver.receive(.subscriptionSucceeded(channel: channel, data: "{}"))
        #expect(effects.sent == (1...3).map { message("client-e", "\($0)") })
    }

    @Test("They are sent within the rate limit, and none is lost")
    func pace() throws {
        var driver = subscribed()
        var sent: [(Duration, ClientMessage)] = []
        var alarm: Duration?
        func take(_ effects: [SessionEffect]) {
            for effect in effects {
                if case .send(let message) = effect { sent.append((driver.now, message)) }
                if case .startAlarm(.clientEvents, let time) = effect { alarm = driver.now + time }
            }
        }
        for number in 0..<50 { take(try trigger("client-e", "\(number)", &driver).effects) }
        #expect(sent.count == 8)
        while let at = alarm {
            alarm = nil
            driver.now = at
            take(driver.session.alarmFired(.clientEvents, at: at))
        }
        #expect(sent.map(\.1) == (0..<50).map { message("client-e", "\($0)") })
        // The broker's rate limit: a token bucket of ten, refilled with ten in a second.
        var (tokens, filledAt) = (10.0, Duration.zero)
        for (time, _) in sent {
            tokens = min(10, tokens + (time - filledAt) / .seconds(1) * 10)
            filledAt = time
            tokens -= 1
            #expect(tokens >= 1)
        }
    }

    @Test("Without a rate limit all are sent at once")
    func noPace() throws {
        var driver = subscribed { $0.perSecond = nil }
        for _ in 0..<1000 { #expect(try trigger("client-e", "1", &driver).wasSent) }
    }

    @Test("A full queue refuses with its limits")
    func bounds() throws {
        var driver = SessionDriver.authorized {
            $0.outbox.countMax = 2
            $0.outbox.bytesMax = 100
        }
        _ = driver.session.subscribe(to: channel)
        _ = try trigger("client-e", "1", &driver)
        let long = "\"\(String(repeating: "x", count: 90))\""
        for (json, isRefused) in [(long, true), ("2", false), ("3", true)] {
            do throws(FanfareError) {
                _ = try trigger("client-e", json, &driver)
                #expect(!isRefused)
            } catch {
                #expect(isRefused)
                #expect(error.description.contains("2 events or 100 bytes"))
            }
        }
    }

    @Test(
        "Events that a broker would refuse are refused with the reason",
        arguments: [
            ("e", "private-a", "{}", "begin with client-"),
            ("client-", "private-a", "{}", "begin with client-"),
            (
                "client-" + String(repeating: "x", count: 200), "private-a", "{}",
                "207 characters of 200"
            ),
            ("client-e", "a", "{}", "only private and presence"),
            ("client-e", "cache-a", "{}", "only private and presence"),
            ("client-e", "#server-to-user-a", "{}", "only private and presence"),
            ("client-e", "private-encrypted-a", "{}", "encrypted channels"),
            ("client-e", "private-b", "{}", "not subscribed"),
            (
                "client-e", "private-a", "\"" + String(repeating: "x", count: 10_240) + "\"",
                "10242 bytes of 10240"
            ),
        ]
    )
    func refuse(name: String, channel: String, json: String, reason: String) {
        var driver = subscribed()
        do throws(FanfareError) {
            _ = try trigger(name, on: channel, json, &driver)
            Issue.record("this should be refused")
        } catch {
            #expect(error.code == .clientEventRefused && error.channel == channel)
            #expect(error.message.contains(name) && error.reason.contains(reason))
        }
    }

    @Test("Dropped events are reported with their names")
    func drop() throws {
        var left = SessionDriver.authorized()
        _ = left.session.subscribe(to: channel)
        _ = try trigger("client-e", "1", &left)
        _ = try trigger("client-f", "1", &left)
        let reason = FanfareError.unsubscribed(channel: channel).description
        #expect(
            left.session.unsubscribe(from: channel).reports == [
                .clientEventsDropped(
                    channel: channel,
                    events: ["client-e", "client-f"],
                    reason: reason
                )
            ]
        )

        var refused = SessionDriver.authorized()
        let ticket = refused.session.subscribe(to: channel).tickets[0]
        _ = try trigger("client-e", "1", &refused)
        let effects = refused.session.authorized(ticket, .failure(.refused(status: 403, body: "")))
        #expect(effects.reports.count == 1)
        #expect(throws: FanfareError.self) { try trigger("client-e", "1", &refused) }

        var disconnected = SessionDriver.authorized()
        _ = disconnected.session.subscribe(to: channel)
        _ = try trigger("client-e", "1", &disconnected)
        #expect(disconnected.session.disconnect().reports.count == 1)
    }
}
