import Broker
import FanfareServer
import Net
import Testing

@testable import fanfare

@Suite("fanfare serve: ready line and options") struct ServeTextTests {
    @Test func theReadyLineNamesEveryAddress() {
        #expect(
            ReadyLine.text(plain: ["127.0.0.1:6001"], tls: [], unix: nil, keys: ["app-key"])
                == "fanfare \(BrokerVersion.current): ready on ws://127.0.0.1:6001 (app key app-key)"
        )
        #expect(
            ReadyLine.text(
                plain: ["127.0.0.1:1", "[::1]:1"],
                tls: ["[::1]:2"],
                unix: "unix:/s",
                keys: ["a", "b", "c", "d", "e"]
            )
                == "fanfare \(BrokerVersion.current): ready on ws://127.0.0.1:1 ws://[::1]:1 wss://[::1]:2 unix:/s (app keys a, b, c and 2 more)"
        )
    }

    @Test func anAppIsThreeWords() {
        let app = AppOption(argument: "1:key:secret:with:colons").credentials
        #expect(app?.id == "1")
        #expect(app?.key == "key")
        #expect(app?.secret == "secret:with:colons")
    }

    @Test(arguments: ["", "1", "1:key", "1:key:", ":key:secret", "1::secret"])
    func anAppOfFewerWordsIsRefused(argument: String) {
        #expect(AppOption(argument: argument).credentials == nil)
    }

    @Test func theDescriptorLimitIsTheHardOne() {
        let limit = DescriptorLimit.raise()
        #expect(limit >= 256)
        #expect(DescriptorLimit.raise() == limit)
    }
}
