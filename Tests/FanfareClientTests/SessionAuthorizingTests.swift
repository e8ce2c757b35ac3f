import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Authorisation of a session's channels") struct SessionAuthorizingTests {
    private let signed = ChannelAuthorization(auth: "app-key:signature")
    private let ann = ChannelAuthorization(
        auth: "app-key:signature",
        channelData: #"{"user_id":7,"user_info":{"name":"Ann"}}"#
    )

    @Test(
        "Channels that require a signature are authorised first",
        arguments: [
            "private-a", "private-cache-a", "presence-a", "presence-cache-a",
        ]
    )
    func authorisesFirst(channel: String) {
        var driver = SessionDriver.authorized()
        let effects = driver.session.subscribe(to: channel)
        #expect(effects == [.authorize(ticket: 1, channel: channel, socketID: "123.456")])
        let authorization = channel.hasPrefix("presence") ? ann : signed
        #expect(
            driver.session.authorized(1, .success(authorization)) == [
                .send(
                    .subscribe(
                        channel: channel,
                        auth: "app-key:signature",
                        channelData: authorization.channelData,
                        position: PositionRequest()
                    )
                )
            ]
        )
        #expect(driver.session.subscribe(to: channel) == [])
        #expect(
            driver.receive(.subscriptionSucceeded(channel: channel, data: "{}")).first
                == .subscribed(channel: channel)
        )
    }

    @Test("Each connection requests its own signature, and a late one is dropped")
    func asksAgain() {
        var driver = SessionDriver.authorized()
        let first = driver.session.subscribe(to: "private-a").tickets
        #expect(driver.close(4200).contains(.cancel(tickets: first)))
        let second = driver.greet().tickets
        #expect(second.count == 1 && second != first)
        #expect(driver.session.authorized(first[0], .success(signed)) == [])
        #expect(driver.session.authorized(second[0], .success(signed)).sent.count == 1)
    }

    @Test("Requests of an unsubscribed channel are cancelled, and their outcome is ignored")
    func cancelsRequests() {
        var driver = SessionDriver.authorized()
        let left = driver.session.subscribe(to: "private-a").tickets
        let gone = SessionEffect.refused(channel: "private-a", .unsubscribed(channel: "private-a"))
        #expect(
            driver.session.unsubscribe(from: "private-a") == [.cancel(tickets: left), gone]
        )
        #expect(driver.session.authorized(left[0], .success(signed)) == [])

        let again = driver.session.subscribe(to: "private-a").tickets
        #expect(driver.session.disconnect().contains(.cancel(tickets: again)))
        #expect(driver.session.authorized(again[0], .success(signed)) == [])
        #expect(driver.session.status == .disconnected)
    }

    @Test("A refusal is reported as the broker's is, and reset by the next subscription")
    func refuses() {
        var driver = SessionDriver.authorized()
        let ticket = driver.session.subscribe(to: "private-a").tickets[0]
        let failure = AuthorizationFailure.refused(status: 403, body: "not you")
        let error = FanfareError.authorizationFailed(channel: "private-a", failure)
        let effects = driver.session.authorized(ticket, .failure(failure))
        #expect(effects.delivered == ["pusher:subscription_error"])
        guard case .deliver(let event, _) = effects[0] else { return }
        #expect(event.data?.hasSuffix(#""status":403}"#) == true)
        #expect(effects.refusals == [error])
        #expect(error.description.contains("403: not you"))
        #expect(driver.session.subscription(to: "private-a") == .refused)
        #expect(driver.session.subscribe(to: "private-a").tickets.count == 1)
    }

    @Test("Without an authorizer the error says what to set")
    func failsWithoutAnAuthorizer() {
        var driver = SessionDriver.connected()
        let refusals = driver.session.subscribe(to: "private-a").refusals
        #expect(refusals == [.authorizationFailed(channel: "private-a", .notConfigured)])
        #expect(
            refusals.first?.description.contains("ClientOptions.authorization.channels") == true
        )
        #expect(driver.session.subscribe(to: "a").sent == [.subscribe("a")])
    }

    @Test(
        "The error for an incomplete response names the missing member",
        arguments: [
            ("presence-a", ChannelAuthorization(auth: "a"), "channel_data"),
            ("presence-a", ChannelAuthorization(auth: "a", channelData: "{}"), "user_id"),
            ("presence-a", ChannelAuthorization(auth: "a", channelData: "?"), "user_id"),
            ("private-encrypted-a", ChannelAuthorization(auth: "a"), "shared_secret"),
        ]
    )
    func malformed(channel: String, authorization: ChannelAuthorization, missing: String) {
        var driver = SessionDriver.authorized { $0.decrypter = ReversingDecrypter() }
        let ticket = driver.session.subscribe(to: channel).tickets[0]
        let effects = driver.session.authorized(ticket, .success(authorization))
        #expect(effects.sent == [])
        let error = effects.refusals.first
        #expect(error?.code == .authorizationFailed)
        #expect(error?.reason.contains("\"\(missing)\"") == true, "\(effects)")
    }

    @Test("A passed signature is used on its connection without a request")
    func tokens() {
        var driver = SessionDriver.authorized()
        let message = ClientMessage.subscribe(
            channel: "private-a",
            auth: "app-key:signature",
            channelData: nil,
            position: PositionRequest()
        )
        #expect(driver.session.subscribe(to: "private-a", with: signed) == [.send(message)])
        _ = driver.close(4200)
        #expect(driver.greet().tickets.count == 1)
    }

    @Test("Without an authorizer a passed signature is outdated on the next connection")
    func outdatedSignatures() {
        var driver = SessionDriver.connected()
        #expect(driver.session.subscribe(to: "private-a", with: signed).sent.count == 1)
        _ = driver.close(4200)
        let refusals = driver.greet().refusals
        #expect(refusals == [.authorizationFailed(channel: "private-a", .outdated)])
    }

    @Test("A signature passed without a connection is used on the first one")
    func earlySignatures() {
        var driver = SessionDriver()
        #expect(driver.session.subscribe(to: "private-a", with: signed) == [])
        _ = driver.session.connect()
        #expect(driver.greet().sent.count == 1)
    }

    @Test("A passed signature replaces a request in flight")
    func tokensInsteadOfRequests() {
        var driver = SessionDriver.authorized()
        let tickets = driver.session.subscribe(to: "private-a").tickets
        let effects = driver.session.subscribe(to: "private-a", with: signed)
        #expect(effects.first == .cancel(tickets: tickets))
        #expect(effects.sent.count == 1)
        #expect(driver.session.authorized(tickets[0], .success(signed)) == [])
    }

    @Test func secretsAreNotShown() {
        let authorization = ChannelAuthorization(
            auth: "key:5ec2e7",
            channelData: nil,
            sharedSecret: "5ec2e7"
        )
        let user = UserAuthentication(auth: "key:5ec2e7", userData: #"{"id":"5ec2e7"}"#)
        for value in [authorization, user] as [Any] {
            var shown = "\(value) \(String(reflecting: value))"
            dump(value, to: &shown)
            #expect(!shown.contains("5ec2e7"))
        }
    }
}
