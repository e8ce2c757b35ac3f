import Broker
import PusherProtocol
import Testing

@Suite("The apps of a broker") struct AppsTests {
    @Test(arguments: [0, 1, 2, 3, 7, 40])
    func findsEachAndNoOther(count: Int) {
        let apps = Apps((0..<count).reversed().map { Self.app("\($0 * 3)", key: "key-\($0)") })
        for number in 0..<count {
            let id = Array("\(number * 3)".utf8)
            let key = Array("key-\(number)".utf8)
            #expect(apps[id: id.span]?.key == "key-\(number)")
            #expect(apps[AppID("\(number * 3)")]?.key == "key-\(number)")
            #expect(apps[key: key.span]?.id.text == "\(number * 3)")
            #expect(apps[key: "key-\(number)"]?.id.text == "\(number * 3)")
        }
        for stranger in ["", "1", "121", "0 ", "00", "key-0x", "é"] {
            let bytes = Array(stranger.utf8)
            #expect(apps[id: bytes.span] == nil)
            #expect(apps[key: bytes.span] == nil)
        }
    }

    @Test func anAppIsFoundByEachOfItsKeys() {
        let several = App(
            id: AppID("7"),
            credentials: Credentials([("b", "1"), ("a", "2"), ("b", "3"), ("d", "4")])
        )
        let apps = Apps([Self.app("1", key: "c"), several])
        for (key, id) in [("a", "7"), ("b", "7"), ("c", "1"), ("d", "7")] {
            #expect(apps[key: key]?.id.text == id)
        }
        #expect(apps[key: "e"] == nil)
    }

    private static func app(_ id: String, key: String) -> App {
        App(id: AppID(id), key: key, secret: AppSecret("secret"))
    }
}
