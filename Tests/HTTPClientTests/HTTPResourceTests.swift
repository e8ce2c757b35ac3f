import HTTPClient
import Testing

@Suite("URLs of resources") struct HTTPResourceTests {
    @Test(arguments: [
        ("http://backend.test", "http://backend.test", "/"),
        ("https://backend.test:443/a?b=c#d", "https://backend.test", "/a?b=c"),
        ("http://backend.test?b=c", "http://backend.test", "/?b=c"),
        ("HTTP://[::1]:9000/hooks", "http://[::1]:9000", "/hooks"),
        ("http://127.0.0.1/a[]=1", "http://127.0.0.1", "/a[]=1"),
    ])
    func parts(url: String, address: String, target: String) throws {
        let resource = try #require(HTTPResource(url))
        #expect(resource.address.url == address)
        #expect(resource.target == target)
    }

    @Test(arguments: [
        ("http://a/żółć", "/%C5%BC%C3%B3%C5%82%C4%87"),
        ("http://a/b c?d=\"e\"", "/b%20c?d=%22e%22"), ("http://a/%20?b=%2F", "/%20?b=%2F"),
    ])
    func encodesWhatNoURLHas(url: String, target: String) throws {
        #expect(HTTPResource(url, encodes: true)?.target == target)
    }

    @Test(arguments: [
        "", "backend.test/a", "ftp://backend.test", "http://", "https:///a",
        "http://me@backend.test", "http://backend.test:0", "http://backend.test:65536",
        "http://[::1", "http://żółć.test", "http://a b/",
    ])
    func refuses(url: String) {
        #expect(HTTPResource(url) == nil)
        #expect(HTTPResource(url, encodes: true) == nil)
    }
}
