import Testing

@testable import FanfareClient

@Suite("Endpoint") struct EndpointTests {
    @Test func readsURLs() throws {
        let cases: [(String, Endpoint)] = [
            ("ws://127.0.0.1:6001", .plain(host: "127.0.0.1", port: 6001)),
            ("ws://example.com", .plain(host: "example.com", port: 80)),
            ("wss://example.com/", .secure(host: "example.com", port: 443)),
            (
                "WSS://example.com:8443/live/",
                .secure(host: "example.com", port: 8443, pathPrefix: "/live")
            ),
            ("https://example.com", .secure(host: "example.com")),
            ("http://[::1]:6001/a/b", .plain(host: "::1", port: 6001, pathPrefix: "a/b")),
            ("ws://[::1]", .plain(host: "::1")),
        ]
        for (url, endpoint) in cases { #expect(try Endpoint(url) == endpoint, "\(url)") }
    }

    @Test(
        "An invalid URL is refused with the reason and what is expected",
        arguments: [
            ("", "it has no scheme"), ("example.com", "it has no scheme"),
            ("127.0.0.1:6001", "it has no scheme"),
            ("ftp://example.com", "the scheme ftp is not supported"),
            ("ws://", "\"\" is not a host"), ("ws://:6001", "\":6001\" is not a host"),
            ("ws://a:0", "port from 1 to 65535"), ("ws://a:", "port from 1 to 65535"),
            ("ws://a:65536", "port from 1 to 65535"), ("ws://a:x", "\"a:x\" is not a host"),
            ("ws://a:+80", "\"a:+80\" is not a host"),
            ("ws://u@a", "a user name is not allowed"), ("ws://a/?q", "a query is not allowed"),
            ("ws://a/#f", "a fragment is not allowed"), ("ws://a b", "a space is not allowed"),
            ("ws://[::1", "\"[::1\" is not a host"), ("ws://[::1]6001", "is not a host"),
            ("ws://a:6001/app/app-key", "must not contain /app/ and the key"),
            ("ws://a/live/app/app-key", "must not contain /app/ and the key"),
        ]
    )
    func refusesInvalidURLs(url: String, reason: String) {
        do throws(InvalidOption) {
            let endpoint = try Endpoint(url)
            Issue.record("\(url) should be refused, not read as \(endpoint)")
        } catch {
            let shown = url == "ws://u@a" ? "…@a" : url
            #expect(error.description.hasPrefix("\"\(shown)\" is not the address of a broker: "))
            #expect(error.description.contains(reason), "\(error)")
            #expect(error.description.hasSuffix("Expected ws://HOST:PORT or wss://HOST"))
        }
    }

    @Test func doesNotShowAPassword() {
        let error = #expect(throws: InvalidOption.self) { try Endpoint("ws://ann:secret@a") }
        #expect(error?.description.contains("secret") == false)
    }

    @Test func writesURLsWithoutTheSchemesPort() {
        #expect(Endpoint.secure(host: "a").description == "wss://a")
        #expect(Endpoint.plain(host: "a", port: 443).description == "ws://a:443")
        #expect(
            Endpoint.plain(host: "::1", port: 6001, pathPrefix: "x/").description
                == "ws://[::1]:6001/x"
        )
    }
}
