import PusherProtocol
import Testing

@Suite("Connection URLs") struct ConnectionURLTests {
    /// The key and the version that a broker reads from a target.
    struct Read: Equatable {
        var key: String
        var version = 7
    }

    static func read(
        _ target: String,
        prefix: String = "",
        requiresVersion: Bool = false
    ) throws(PusherCode) -> Read {
        let target = bytes(target)
        let key = try ConnectionURL.withKey(inTarget: target.span, pathPrefix: prefix) {
            String(decoding: $0.withUnsafeBufferPointer { Array($0) }, as: UTF8.self)
        }
        return Read(
            key: key,
            version: try ConnectionURL.version(inTarget: target.span, isRequired: requiresVersion)
        )
    }

    @Test(arguments: [
        ("/app/KEY?protocol=7&client=js&version=8.6.0&flash=false", Read(key: "KEY")),
        ("/app/KEY?client=pusher-websocket-swift&version=10.1.10&protocol=7", Read(key: "KEY")),
        ("/app/KEY", Read(key: "KEY")), ("/app/KEY?", Read(key: "KEY")),
        ("/app/KEY?protocol=5", Read(key: "KEY", version: 5)),
        ("/app/KEY?protocol=6&x=y", Read(key: "KEY", version: 6)),
        ("/app/KEY?protocol=06", Read(key: "KEY", version: 6)),
        ("/app/KEY?version=1&protocol=6&&client=&protocol=5&version", Read(key: "KEY", version: 6)),
        ("/app/KEY?version=1%2B&protocol=6&protocol=5", Read(key: "KEY", version: 6)),
        ("/app/KEY?Protocol=6&client=a%20b&version=c+d", Read(key: "KEY", version: 6)),
        ("/app/KEY?protocol%3D6&%70rotocol=5", Read(key: "KEY", version: 5)),
        ("/app/a%2Db?protocol=7", Read(key: "a-b")), ("/app/KEY?protocol=", Read(key: "KEY")),
        ("/app/KEY?protocol&x", Read(key: "KEY")),
    ])
    func reads(target: String, expected: Read) throws {
        #expect(try Self.read(target) == expected)
    }

    @Test(arguments: [
        ("/", PusherCode.pathNotFound), ("/app", .pathNotFound), ("/app/", .pathNotFound),
        ("/app/?protocol=7", .pathNotFound), ("/app/KEY/x", .pathNotFound),
        ("/apps/KEY", .pathNotFound), ("/ws/app/KEY", .pathNotFound), ("", .pathNotFound),
        ("app/KEY", .pathNotFound), ("/App/KEY", .pathNotFound),
        ("/nowhere?protocol=x", .pathNotFound),
        ("/app/KEY?protocol=x", .invalidVersion), ("/app/KEY?protocol=7.0", .invalidVersion),
        ("/app/KEY?protocol=-7", .invalidVersion), ("/app/KEY?protocol=0", .unsupportedVersion),
        ("/app/KEY?protocol=4", .unsupportedVersion), ("/app/KEY?protocol=8", .unsupportedVersion),
        ("/app/KEY?protocol=99999999999999999999", .unsupportedVersion),
    ])
    func refuses(target: String, code: PusherCode) {
        #expect(throws: code) { try Self.read(target) }
    }

    @Test func stripsThePrefix() throws {
        #expect(try Self.read("/ws/app/KEY?protocol=7", prefix: "/ws").key == "KEY")
        #expect(throws: PusherCode.pathNotFound) { try Self.read("/app/KEY", prefix: "/ws") }
    }

    @Test func requiresAVersionOnRequest() {
        #expect(throws: PusherCode.noVersion) {
            try Self.read("/app/KEY", requiresVersion: true)
        }
        #expect(throws: Never.self) {
            try Self.read("/app/KEY?protocol=7", requiresVersion: true)
        }
    }

    @Test func readsWhatItWrites() throws {
        let url = ConnectionURL(key: "a key/&", client: "c d", clientVersion: "1+2")
        #expect(url.target() == "/app/a%20key%2F%26?protocol=7&client=c%20d&version=1%2B2")
        #expect(try Self.read(url.target()) == Read(key: "a key/&"))
        #expect(try Self.read(url.target(pathPrefix: "/p"), prefix: "/p") == Read(key: "a key/&"))
    }
}
