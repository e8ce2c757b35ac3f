import PusherProtocol
import Testing

@Suite("Connection URLs") struct ConnectionURLTests {
    static func parse(
        _ target: String,
        prefix: String = "",
        requiresVersion: Bool = false
    ) throws(PusherCode) -> ConnectionURL {
        try ConnectionURL(
            target: bytes(target).span,
            pathPrefix: prefix,
            requiresVersion: requiresVersion
        )
    }

    @Test(arguments: [
        (
            "/app/KEY?protocol=7&client=js&version=8.6.0&flash=false",
            ConnectionURL(key: "KEY", client: "js", clientVersion: "8.6.0")
        ),
        (
            "/app/KEY?client=pusher-websocket-swift&version=10.1.10&protocol=7",
            ConnectionURL(key: "KEY", client: "pusher-websocket-swift", clientVersion: "10.1.10")
        ),
        ("/app/KEY", ConnectionURL(key: "KEY")), ("/app/KEY?", ConnectionURL(key: "KEY")),
        ("/app/KEY?protocol=5", ConnectionURL(key: "KEY", protocolVersion: 5)),
        ("/app/KEY?protocol=6&x=y", ConnectionURL(key: "KEY", protocolVersion: 6)),
        (
            "/app/KEY?version=1&protocol=6&&client=&protocol=5&version",
            ConnectionURL(key: "KEY", protocolVersion: 6, client: "", clientVersion: "1")
        ),
        (
            "/app/KEY?Protocol=6&client=a%20b&version=c+d",
            ConnectionURL(key: "KEY", protocolVersion: 6, client: "a b", clientVersion: "c+d")
        ),
        ("/app/a%2Db?protocol=7", ConnectionURL(key: "a-b")),
        ("/app/KEY?protocol=", ConnectionURL(key: "KEY")),
    ])
    func reads(target: String, url: ConnectionURL) throws {
        #expect(try Self.parse(target) == url)
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
        #expect(throws: code) { try Self.parse(target) }
    }

    @Test func stripsThePrefix() throws {
        #expect(try Self.parse("/ws/app/KEY?protocol=7", prefix: "/ws").key == "KEY")
        #expect(throws: PusherCode.pathNotFound) { try Self.parse("/app/KEY", prefix: "/ws") }
    }

    @Test func mayRequireAVersion() {
        #expect(throws: PusherCode.noVersion) {
            try Self.parse("/app/KEY", requiresVersion: true)
        }
        #expect(throws: Never.self) {
            try Self.parse("/app/KEY?protocol=7", requiresVersion: true)
        }
    }

    @Test func readsWhatItWrites() throws {
        let url = ConnectionURL(key: "a key/&", client: "c d", clientVersion: "1+2")
        #expect(url.target() == "/app/a%20key%2F%26?protocol=7&client=c%20d&version=1%2B2")
        #expect(try Self.parse(url.target()) == url)
        #expect(try Self.parse(url.target(pathPrefix: "/p"), prefix: "/p") == url)
    }
}
