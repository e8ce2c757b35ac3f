import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("The user of a session") struct SessionUserTests {
    private let ann = #"{"id":"ann","user_info":{"name":"Ann"}}"#
    private let mine = "#server-to-user-ann"

    private func signIn(_ driver: inout SessionDriver, _ tickets: [Int]) -> [SessionEffect] {
        let authentication = UserAuthentication(auth: "app-key:signature", userData: ann)
        return driver.session.authenticated(tickets[0], .success(authentication))
    }

    @Test("A sign-in requests a signature, signs in at the broker and receives the user's events")
    func signsIn() {
        var driver = SessionDriver.authorized()
        let effects = driver.session.startSigningIn()
        #expect(effects == [.authenticate(ticket: 1, socketID: "123.456")])
        #expect(driver.session.startSigningIn() == [])
        #expect(
            signIn(&driver, effects.tickets) == [
                .send(.signin(auth: "app-key:signature", userData: ann)),
                .startAlarm(.signIn, .seconds(15)),
            ]
        )
        let done = driver.receive(.signinSuccess(userData: ann))
        #expect(done.delivered == ["pusher:signin_success"])
        #expect(done.sent == [.subscribe(mine)])
        #expect(done.contains(.stopAlarm(.signIn)))
        #expect(done.last == SignedInUser(ann).map { .signedIn($0) })
        #expect(driver.session.signIn.user?.id == "ann")

        _ = driver.receive(.subscriptionSucceeded(channel: mine, data: "{}"))
        let event = ReceivedEvent(name: "e", channel: mine, data: "1")
        let expected = ChannelEvent(name: "e", channel: mine, data: "1")
        #expect(driver.receive(.event(event)) == [.deliver(expected), .deliverToUser(expected)])
    }

    @Test("Each connection signs in before it subscribes")
    func signsInAgain() {
        var driver = SessionDriver.authorized()
        _ = driver.session.subscribe(to: "a")
        _ = signIn(&driver, driver.session.startSigningIn().tickets)
        _ = driver.receive(.signinSuccess(userData: ann))
        _ = driver.close(4200)
        #expect(driver.session.signIn.user == nil)
        #expect(driver.session.subscription(to: mine) == nil)
        let effects = driver.greet()
        #expect(effects.tickets.count == 1)
        #expect(effects.sent == [.subscribe("a")])
    }

    @Test("A sign-in without a connection starts on the next one")
    func waitsForTheConnection() {
        var driver = SessionDriver { $0.authenticates = true }
        #expect(driver.session.startSigningIn() == [])
        _ = driver.session.connect()
        #expect(driver.greet().tickets.count == 1)
    }

    @Test("Subscriptions that require the user wait for the sign-in")
    func holdsPresence() {
        var driver = SessionDriver.authorized()
        let user = driver.session.startSigningIn().tickets
        let channel = driver.session.subscribe(to: "presence-a").tickets
        #expect(driver.session.subscribe(to: mine) == [])
        // The response has no channel_data: the signed-in user joins.
        let nobody = ChannelAuthorization(auth: "a")
        #expect(driver.session.authorized(channel[0], .success(nobody)) == [])
        #expect(signIn(&driver, user).sent.count == 1)
        let sent = driver.receive(.signinSuccess(userData: ann)).sent
        #expect(
            sent == [
                .subscribe(
                    channel: "presence-a",
                    auth: "a",
                    channelData: nil,
                    position: PositionRequest()
                ), .subscribe(mine),
            ]
        )
        let data = #"{"presence":{"hash":{"ann":null}}}"#
        _ = driver.receive(.subscriptionSucceeded(channel: "presence-a", data: data))
        #expect(driver.session.subscriptions[of: "presence-a"]?.roster?.me?.id == "ann")
    }

    @Test("A backend's refusal fails the subscriptions that wait for the sign-in")
    func failsAtTheBackend() {
        var driver = SessionDriver.authorized()
        let user = driver.session.startSigningIn().tickets[0]
        _ = driver.session.subscribe(to: mine)
        let failure = AuthorizationFailure.refused(status: 401, body: "")
        let error = FanfareError.signInFailed(failure)
        let effects = driver.session.authenticated(user, .failure(failure))
        #expect(effects.first == .signInFailed(error))
        #expect(effects.refusals == [error])
        #expect(driver.session.startSigningIn().tickets.count == 1)
    }

    @Test("A broker's refusal leaves the connection open")
    func failsAtTheBroker() {
        var driver = SessionDriver.authorized()
        _ = signIn(&driver, driver.session.startSigningIn().tickets)
        let effects = driver.receive(.error(code: .unauthorized, message: "no"))
        #expect(effects == [.stopAlarm(.signIn), .signInFailed(.signInRefused(message: "no"))])
        #expect(driver.session.status.isConnected)
        // Later errors have other causes.
        #expect(driver.receive(.error(code: .unauthorized, message: "x")).reports.count == 1)
    }

    @Test("A sign-in without an answer fails after a timeout")
    func failsInSilence() {
        var driver = SessionDriver.authorized()
        _ = signIn(&driver, driver.session.startSigningIn().tickets)
        let effects = driver.session.alarmFired(.signIn, at: .seconds(15))
        guard case .signInFailed(let error) = effects.last, error.code == .signInRefused else {
            Issue.record("\(effects)")
            return
        }
        #expect(error.reason.contains("15"))
        #expect(driver.session.alarmFired(.signIn, at: .seconds(30)) == [])
    }

    @Test func failsWithoutAnAuthenticator() {
        var driver = SessionDriver.connected()
        #expect(driver.session.startSigningIn() == [.signInFailed(.signInFailed(.notConfigured))])
    }

    @Test("A user channel subscribed by the app stays subscribed")
    func keepsTheAppsChannel() {
        var driver = SessionDriver.authorized()
        let tickets = driver.session.startSigningIn().tickets
        _ = driver.session.subscribe(to: mine)
        _ = signIn(&driver, tickets)
        #expect(driver.receive(.signinSuccess(userData: ann)).sent == [.subscribe(mine)])
        _ = driver.close(4200)
        #expect(driver.session.subscription(to: mine) == .wanted)
    }

    @Test("A watchlist reports changes")
    func watches() {
        var driver = SessionDriver.connected()
        func change(_ online: [String], _ offline: [String]) -> WatchlistChange? {
            for case .watchlist(let change) in driver.receive(
                .watchlist(online: online, offline: offline)
            ) { return change }
            return nil
        }
        let first = change(["bob"], ["cid"])
        #expect(first?.online == ["bob"] && first?.offline == ["cid"])
        #expect(change(["bob"], ["cid"]) == nil)
        let second = change(["cid"], ["bob"])
        #expect(second?.watchlist.online == ["cid"] && second?.watchlist.offline == ["bob"])
        _ = driver.close(4200)
        #expect(driver.session.signIn.watchlist == Watchlist())
    }
}
