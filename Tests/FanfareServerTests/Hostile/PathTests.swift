import Testing

@testable import FanfareServer

extension HostileTests {
    @Suite("Path tricks") struct PathTests {
        private static func get(_ target: String) -> String {
            "GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n"
        }

        /// Paths are literal: dots, slashes, escapes and capitals are not resolved.
        private static let nowhere: [HostileRequest] = [
            "/../../etc/passwd", "/..", "/.", "/apps/1/../1/channels", "/apps/./1/channels",
            "/%2e%2e/apps/1/channels", "/apps/1/%2e%2e/1/channels", "//apps/1/channels",
            "/apps//1/channels", "/apps/1//channels", "/apps/1/channels/", "/apps%2f1%2fchannels",
            "/health/", "/health/.", "/health%00", "/health;x=1", "/HEALTH", "/heal%74h",
            "\\health",
            "/\\..\\health", "/apps/1/channels/a/../b/users", "/%c0%ae%c0%ae/health",
            "/a:b@c/health",
        ].map { path in
            guard path.hasPrefix("/") else {
                return HostileRequest(path, get(path), 400, "request target is not a path")
            }
            return HostileRequest(path, answered: get(path), (404, "Nothing is at \(path)"))
        }

        private static let others: [HostileRequest] = [
            ("/apps/%31/channels", 404, "No app has the ID %31"),
            ("/apps/1%00/channels", 404, "No app has the ID 1%00"),
            ("/apps/../channels", 404, "No app has the ID .."),
            ("/apps/1/channels", 401, "Missing parameter: auth_key"),
            ("http://evil.test/apps/1/channels?a", 401, "Missing parameter: auth_key"),
            ("http://evil.test/health", 200, "ok"),
            ("http://evil.test:1/../health", 404, "Nothing is at /../health"),
            ("http://evil.test", 404, "Nothing is at /"),
            ("/health?/../apps", 200, "ok"),
            ("/health?x=%&y=%zz&=&&", 200, "ok"),
        ].map { target, status, text in
            HostileRequest(target, answered: get(target), (status, text))
        }

        private static let malformed: [HostileRequest] =
            [
                "*", "health", "http:///health", "http://user@evil.test/health", "http:/health",
                "http://[::1/health", "/health#x", "/he\u{7F}lth", "/h\u{E9}alth", "/he\0lth",
                "/a\tb",
                "/<script>", "/\"", "?x",
            ]
            .map {
                HostileRequest($0.debugDescription, get($0), 400, "request target is not a path")
            } + [
                HostileRequest("/a b", get("/a b"), 400, "request line is not METHOD"),
                HostileRequest(
                    "8,193 bytes",
                    get("/" + String(repeating: "a", count: 8_192)),
                    414,
                    "longer than 8192 bytes"
                ),
                HostileRequest(
                    "1 MiB",
                    get("/" + String(repeating: "../", count: 350_000)),
                    414,
                    "longer than 8192 bytes"
                ),
            ]

        /// Signed paths: their names are decoded once, and then validated.
        private static let signed: [HostileRequest] = [
            ("/apps/1/channels/..", 200, #"{"occupied":false}"#),
            ("/apps/1/channels/%2e%2e", 200, #"{"occupied":false}"#),
            ("/apps/1/channels/a%2Fb", 400, "Invalid channel name: \"a/b\""),
            ("/apps/1/channels/%252e", 400, "Invalid channel name: \"%2e\""),
            ("/apps/1/channels/%c0%ae", 400, "Invalid channel name: "),
            ("/apps/1/channels/%23server-to-user-..", 200, #"{"occupied":false}"#),
            ("/apps/1/channels/%23server-to-user-%2f", 400, "Invalid channel name: "),
        ].map { path, status, text in
            HostileRequest(
                "signed \(path)",
                answered: SignedRequest(method: "GET", path: path).text,
                (status, text)
            )
        }

        @Test(arguments: nowhere + others + malformed + signed)
        func leadsNowhereElse(_ request: HostileRequest) async throws {
            try await TestBroker.attacked { try await request.run(on: $0) }
        }

        @Test(
            "A client's path is /app/KEY, in the origin form or the absolute one",
            arguments: [
                ("/app/%61pp-key", nil), ("http://evil.test/app/app-key?protocol=7", nil),
                ("/app/../app/app-key", 4005), ("/app//app-key", 4005), ("//app/app-key", 4005),
                ("/app/app-key/", 4005), ("/app/app-key/..", 4005), ("/app%2fapp-key", 4005),
                ("/APP/app-key", 4005), ("http://evil.test", 4005), ("/app/app-key%00", 4001),
                ("/app/app-key%2f", 4001), ("/app/%2e%2e", 4001), ("/app/app%252dkey", 4001),
                ("/app/app-key;x", 4001), ("/app/App-Key", 4001), ("/app/%", 4001),
            ] as [(String, Int?)]
        )
        func clients(target: String, code: Int?) async throws {
            try await TestBroker.attacked { broker in
                let client = try await WebSocketWire(port: broker.port, target: target)
                guard let code else { return _ = try await client.socketID() }
                try await client.expectEnd(code)
                try await client.wire.expectNoMore()
            }
        }
    }
}
