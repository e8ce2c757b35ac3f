import Testing
import TestRandom

@testable import FanfareClient

@Suite("Backoff") struct BackoffTests {
    @Test func staysBetweenFloorAndWindowAndCap() {
        let backoff = Backoff(floor: .seconds(1), window: .seconds(2), cap: .seconds(20))
        var generator = SeededRandom(seed: 7)
        for failures in [0, 1, 2, 3, 4, 5, 16, 17, 1000, .max] {
            let widest = min(
                Duration.seconds(1) + .seconds(2) * (1 << min(failures, 16)),
                .seconds(20)
            )
            var longest = Duration.zero
            for _ in 0..<500 {
                let delay = backoff.delay(failures: failures, using: &generator)
                #expect(delay >= .seconds(1) && delay <= widest)
                longest = max(longest, delay)
            }
            // The whole window is used.
            #expect(longest > .seconds(1) + (widest - .seconds(1)) * 0.9)
        }
    }

    @Test func mayBeNothing() {
        let backoff = Backoff(floor: .zero, window: .zero, cap: .zero)
        var generator = SeededRandom(seed: 7)
        #expect(backoff.delay(failures: 5, using: &generator) == .zero)
    }
}

@Suite("Endpoint") struct EndpointTests {
    @Test func readsURLs() {
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
        for (url, endpoint) in cases { #expect(Endpoint(url) == endpoint, "\(url)") }
    }

    @Test func refusesInvalidURLs() {
        let urls = [
            "", "example.com", "ftp://example.com", "ws://", "ws://:6001", "ws://a:0", "ws://a:",
            "ws://a:65536", "ws://a:x", "ws://u@a", "ws://a/?q", "ws://a/#f", "ws://[::1",
            "ws://[::1]6001", "ws://a b",
        ]
        for url in urls { #expect(Endpoint(url) == nil, "\(url)") }
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
