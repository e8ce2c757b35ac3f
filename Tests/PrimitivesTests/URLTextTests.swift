import Testing

@testable import Primitives

@Suite("Secrets in URLs") struct URLTextTests {
    @Test(
        "Shown are scheme, host, port, the first word of the path, and the names of the query",
        arguments: [
            ("https://a.test", "https://a.test"), ("https://a.test:8/", "https://a.test:8/"),
            ("https://a.test/hook", "https://a.test/hook"),
            ("https://a.test/web-hooks.v1/", "https://a.test/web-hooks.v1/"),
            ("https://a.test/services/T0/B0/x", "https://a.test/services/…"),
            ("https://a.test/api/webhooks/1/x?wait=1", "https://a.test/api/…?wait=…"),
            // A token as the first or only segment.
            ("https://a.test/0b4f8c1e-77aa-4d5e", "https://a.test/…"),
            ("https://a.test/bot12345:AAH-x/send", "https://a.test/…"),
            ("https://a.test/abcdefghijklmnopqrstuvwx", "https://a.test/…"),
            ("https://a.test/Abc", "https://a.test/…"), ("https://a.test/%61", "https://a.test/…"),
            ("https://a.test//x", "https://a.test//…"),
            ("https://u:p@a.test/x/y?z#w", "https://…@a.test/x/…?…#…"),
            ("http://[::1]:80/x/y", "http://[::1]:80/x/…"), ("a.test/x/y", "a.test/x/…"),
            ("https://u:p/w@a.test/", "https://…"), ("u:p@a.test/", "…"), ("", ""),
        ]
    )
    func hides(url: String, shown: String) { #expect(url.withoutURLSecrets == shown) }
}
