import Redis
import Testing

@Suite("Addresses of Redis") struct RedisURLTests {
    @Test(
        arguments: [
            (
                "redis://localhost", RedisURL.Location.host("localhost", port: 6379),
                "redis://localhost:6379"
            ),
            ("REDIS://a.example:7000/", .host("a.example", port: 7000), "redis://a.example:7000"),
            ("redis://10.0.0.1:1/0", .host("10.0.0.1", port: 1), "redis://10.0.0.1:1"),
            ("rediss://[::1]:6380", .host("::1", port: 6380), "rediss://[::1]:6380"),
            ("redis://[::1]", .host("::1", port: 6379), "redis://[::1]:6379"),
            (
                "redis+unix:///run/redis%20a.sock", .unix(path: "/run/redis a.sock"),
                "redis+unix:///run/redis a.sock"
            ),
            ("redis+unix://u:p@/run/r", .unix(path: "/run/r"), "redis+unix:///run/r"),
            ("redis://mymaster", .host("mymaster", port: 6379), "redis://mymaster:6379"),
        ]
    )
    func parses(text: String, location: RedisURL.Location, description: String) throws {
        let url = try RedisURL(text)
        #expect(url.location == location && url.description == description)
        #expect(url.isSecure == text.hasPrefix("rediss"))
    }

    @Test(
        arguments: [
            ("redis://h", nil, nil),
            ("redis://u:p@h", "u", "p"),
            ("redis://:p@h", nil, "p"),
            ("redis://u%3A:p%40%2F@h", "u:", "p@/"),
            ("redis://u:p@/x@h", "u", "p@/x"),
            ("redis://u:p:q@h", "u", "p:q"),
        ] as [(String, String?, String?)]
    )
    func readsCredentials(text: String, username: String?, password: String?) throws {
        let url = try RedisURL(text)
        #expect(url.username == username && url.password == password)
        #expect(url.location == .host("h", port: 6379))
        #expect(!url.description.contains("p@"))
    }

    @Test(
        arguments: [
            ("", RedisURLError.scheme),
            ("localhost:6379", .scheme),
            ("http://localhost", .scheme),
            ("unix:///run/redis.sock", .scheme),
            ("redis://", .host("")),
            ("redis://:6379", .host("")),
            ("redis://a b", .host("a b")),
            ("redis://[::1]x", .host("[::1]x")),
            ("redis://h:", .port("")),
            ("redis://h:0", .port("0")),
            ("redis://h:65536", .port("65536")),
            ("redis://h:6379x", .port("6379x")),
            ("redis://h/1", .database("1")),
            ("redis://h/0?timeout=1", .parameters),
            ("redis://h#a", .parameters),
            ("redis://secret@h", .credentials),
            ("redis://user:@h", .credentials),
            ("redis://u:%zz@h", .encoding),
            ("redis+unix://run/redis.sock", .path("run/redis.sock")),
            ("redis+unix:///", .path("/")),
            ("redis+unix:///%00a", .path("/\0a")),
            (
                "redis+unix:///" + String(repeating: "a", count: 107),
                .pathTooLong(length: 108, limit: 107)
            ),
        ]
    )
    func refuses(text: String, error: RedisURLError) {
        #expect(throws: error) { try RedisURL(text) }
        #expect(!error.description.contains("secret"))
    }
}
