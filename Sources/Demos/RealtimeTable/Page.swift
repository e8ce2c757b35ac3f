import Foundation
import HTTP1

/// The files of the web page, which are part of the program, and where the page finds the broker.
struct Page: Sendable {
    private let files: [String: File]

    private struct File: Sendable {
        let contentType: String
        let bytes: [UInt8]
    }

    init(broker: PublicBroker) throws {
        let html = "text/html; charset=utf-8"
        let css = "text/css; charset=utf-8"
        let script = "text/javascript; charset=utf-8"
        let config = [UInt8](try JSONEncoder().encode(broker))
        files = [
            "/": File(contentType: html, bytes: PackageResources.index_html),
            "/style.css": File(contentType: css, bytes: PackageResources.style_css),
            "/table.js": File(contentType: script, bytes: PackageResources.table_js),
            "/list.js": File(contentType: script, bytes: PackageResources.list_js),
            "/rows.js": File(contentType: script, bytes: PackageResources.rows_js),
            "/backend.js": File(contentType: script, bytes: PackageResources.backend_js),
            "/fanfare.js": File(contentType: script, bytes: PackageResources.fanfare_js),
            "/icon.svg": File(contentType: "image/svg+xml", bytes: PackageResources.icon_svg),
            "/config.json": File(contentType: "application/json", bytes: config),
        ]
    }

    /// The answer with a file, or `nil` when the page has none of that name.
    func file(_ path: String) -> Response? {
        guard let file = files[path] else { return nil }
        return Response(
            status: 200,
            fields: [
                Field("Content-Type", file.contentType),
                // The next build's page is to be seen at once.
                Field("Cache-Control", "no-cache"),
                Field("X-Content-Type-Options", "nosniff"),
                // What is text in a name or an event must never become a script.
                Field("Content-Security-Policy", "default-src 'self'; connect-src *"),
            ],
            body: file.bytes
        )
    }
}

/// What the page must know of the broker; nothing of it is secret.
public struct PublicBroker: Encodable, Sendable {
    /// The app's key.
    public var key: String
    /// Where a browser finds the broker; `nil` for the host that served the page.
    public var host: String?
    /// The broker's port, plain or TLS.
    public var port: UInt16
    /// Whether the page connects by `wss`.
    public var tls: Bool

    /// Describes the broker to the page.
    public init(key: String, host: String?, port: UInt16, tls: Bool) {
        self.key = key
        self.host = host
        self.port = port
        self.tls = tls
    }
}
