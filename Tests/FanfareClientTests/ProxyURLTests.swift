import HTTPClient
import Testing

@testable import FanfareClient

@Suite("A proxy's URL") struct ProxyURLTests {
    @Test func isRead() throws {
        let cases: [(String, ClientOptions.Proxy)] = [
            ("http://proxy.example.com:3128", .http(host: "proxy.example.com", port: 3128)),
            ("HTTP://proxy/", .http(host: "proxy", port: 80)),
            ("proxy:8080", .http(host: "proxy", port: 8080)),
            ("http://[::1]:3128", .http(host: "::1", port: 3128)),
            (
                "http://anna:p%40ss%3Aw%2Frd@proxy:1",
                .http(host: "proxy", port: 1, user: "anna", password: "p@ss:w/rd")
            ),
            ("http://anna@proxy:1", .http(host: "proxy", port: 1, user: "anna")),
        ]
        for (url, proxy) in cases { #expect(try .http(url) == proxy) }
    }

    @Test(arguments: [
        "", "http://", "http://:3128", "http://proxy:0", "http://proxy:65536", "http://proxy:x",
        "https://anna:secret@proxy:3128", "socks5://anna:secret@proxy", "http://anna:secret@",
        "http://anna:secret@proxy/path", "http://:secret@proxy", "http://a%zz:secret@proxy",
        "http://anna:secret@pro xy",
    ])
    func isRefusedWithoutItsPassword(url: String) {
        #expect {
            try ClientOptions.Proxy.http(url)
        } throws: { error in
            let text = "\(error)"
            return text.contains("http://HOST:PORT") && !text.contains("secret")
        }
    }

    @Test func isShownWithoutItsPassword() throws {
        let proxy = try ClientOptions.Proxy.http("http://anna:secret@proxy:3128")
        var shown = "\(proxy)"
        dump(proxy, to: &shown)
        #expect(shown.contains("http://anna:…@proxy:3128"))
        #expect(!shown.contains("secret"), "\(shown)")
    }
}

@Suite("Proxies from the environment") struct ProxyEnvironmentTests {
    private func proxy(
        _ endpoint: Endpoint,
        _ environment: [String: String],
        _ option: ClientOptions.Proxy = .environment
    ) throws -> HTTPRoute {
        try option.resolved(for: endpoint) { environment[$0] }
    }

    private let plain = Endpoint.plain(host: "live.example.com", port: 6001)
    private let secure = Endpoint.secure(host: "live.example.com")
    private let a = HTTPRoute.proxy(ProxyAddress(host: "a", port: 1))
    private let b = HTTPRoute.proxy(ProxyAddress(host: "b", port: 2))

    @Test func isReadOnlyIfTheOptionIsSet() throws {
        let environment = ["http_proxy": "http://a:1", "https_proxy": "http://b:2"]
        #expect(try proxy(plain, environment) == a)
        #expect(try proxy(secure, environment) == b)
        #expect(try proxy(plain, environment, .system) == .system)
        #expect(try proxy(plain, environment, .none) == .direct)
        let named = ClientOptions.Proxy.http(host: "c", port: 3, user: "u", password: "p")
        #expect(
            try proxy(plain, environment, named)
                == .proxy(ProxyAddress(host: "c", port: 3, user: "u", password: "p"))
        )
        #expect(try proxy(secure, ["HTTPS_PROXY": "b:2"]) == b)
        // A CGI server sets it from a request's field.
        #expect(try proxy(plain, ["HTTP_PROXY": "http://a:1"]) == .direct)
        #expect(try proxy(plain, ["http_proxy": "", "https_proxy": "http://b:2"]) == .direct)
        #expect(try proxy(plain, [:]) == .direct)
    }

    @Test(arguments: [
        ("*", true), ("live.example.com", true), ("LIVE.example.com", true), ("example.com", true),
        (".example.com", true), ("a, b,example.com", true), ("a example.com", true),
        ("live.example.com:6001", true), ("live.example.com:443", false), ("ample.com", false),
        ("a.live.example.com", false), ("example", false), ("", false), (",,", false),
    ])
    func excludesHosts(list: String, isException: Bool) throws {
        for name in ["no_proxy", "NO_PROXY"] {
            let found = try proxy(plain, ["http_proxy": "http://a:1", name: list])
            #expect(found == (isException ? .direct : a))
        }
    }

    @Test func excludesAddresses() throws {
        let environment = ["http_proxy": "http://a:1", "no_proxy": "127.0.0.1,::1"]
        #expect(try proxy(.plain(host: "127.0.0.1"), environment) == .direct)
        #expect(try proxy(.plain(host: "::1"), environment) == .direct)
        #expect(try proxy(.plain(host: "127.0.0.2"), environment) == a)
    }

    @Test func isNamedWhenItIsWrong() {
        #expect {
            try proxy(secure, ["https_proxy": "socks5://b:2"])
        } throws: { error in
            "\(error)".contains("https_proxy") && "\(error)".contains("socks5")
        }
    }
}
