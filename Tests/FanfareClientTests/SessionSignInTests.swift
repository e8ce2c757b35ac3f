import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("A session with the app's secret") struct SessionSignInTests {
    private let socketID = SocketID(123, 456)
    private let secret = AppSecret("app-secret")
    private let ann = #"{"id":"ann"}"#

    private func signature(_ text: String) -> String { "app-key:" + secret.sign(text) }

    @Test("It signs in before it subscribes, on each connection")
    func signsIn() {
        let signer = LocalSigner(key: "app-key", secret: "app-secret", userData: ann)
        var driver = SessionDriver(signer: signer)
        for channel in ["#server-to-user-ann", "presence-x"] {
            _ = driver.session.subscribe(to: channel)
        }
        _ = driver.session.connect()
        let expected: [SessionEffect] = [
            .send(.signin(auth: signature("123.456::user::" + ann), userData: ann)),
            .send(.subscribe("#server-to-user-ann")),
            .send(
                .subscribe(
                    channel: "presence-x",
                    auth: signature("123.456:presence-x"),
                    channelData: nil,
                    position: PositionRequest()
                )
            ),
        ]
        #expect(Array(driver.greet().dropFirst(2)) == expected)
        driver.now += .seconds(60)
        _ = driver.close(1006)
        _ = driver.fire(after: .seconds(60))
        #expect(Array(driver.greet().dropFirst(2)) == expected)
    }

    @Test("It signs channels that require it, and signs in only with user data")
    func signsChannels() {
        var driver = SessionDriver(signer: LocalSigner(key: "app-key", secret: "app-secret"))
        _ = driver.session.connect()
        #expect(driver.greet().count == 2)
        #expect(driver.session.subscribe(to: "news") == [.send(.subscribe("news"))])
        #expect(
            driver.session.subscribe(to: "private-x") == [
                .send(
                    .subscribe(
                        channel: "private-x",
                        auth: signature("123.456:private-x"),
                        channelData: nil,
                        position: PositionRequest()
                    )
                )
            ]
        )
    }

    @Test("Events about users are delivered without a channel")
    func userEvents() {
        var driver = SessionDriver.connected()
        #expect(
            driver.receive(.signinSuccess(userData: ann)) == [
                .deliver(
                    ChannelEvent(
                        name: "pusher:signin_success",
                        channel: nil,
                        data: #"{"user_data":"{\"id\":\"ann\"}"}"#
                    )
                )
            ]
        )
        #expect(
            driver.receive(.watchlist(online: ["bob"], offline: [])).first
                == .deliver(
                    ChannelEvent(
                        name: "pusher:watchlist_events",
                        channel: nil,
                        data: #"{"online":["bob"]}"#
                    )
                )
        )
    }
}
