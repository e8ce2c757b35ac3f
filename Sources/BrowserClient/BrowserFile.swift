/// A file for web pages that the program contains: the browser client, the add-on for pusher-js, and their types.
package struct BrowserFile: Sendable {
    /// The name in URLs, such as `fanfare.js`.
    package let name: String
    /// The value of Content-Type.
    package let contentType: String
    /// The content.
    package let bytes: [UInt8]
    /// The content, compressed by gzip.
    package let gzipped: [UInt8]

    private init(name: String, contentType: String, bytes: [UInt8]) {
        self.name = name
        self.contentType = contentType
        self.bytes = bytes
        gzipped = Gzip.compress(bytes)
    }

    /// The version of the files, which the client sends to the broker when it connects.
    package static let version = "0.2.0"

    /// The files of the console: its page, the form to sign in, and their parts.
    package static let console = [
        BrowserFile(
            name: "index.html",
            contentType: "text/html; charset=utf-8",
            bytes: PackageResources.index_html
        ),
        BrowserFile(
            name: "login.html",
            contentType: "text/html; charset=utf-8",
            bytes: PackageResources.login_html
        ),
        BrowserFile(
            name: "console.css",
            contentType: "text/css; charset=utf-8",
            bytes: PackageResources.console_css
        ),
        script("console.js", PackageResources.console_js),
        script("console-page.js", PackageResources.console_page_js),
        script("console-overview.js", PackageResources.console_overview_js),
        script("console-events.js", PackageResources.console_events_js),
        script("console-channels.js", PackageResources.console_channels_js),
        script("console-connections.js", PackageResources.console_connections_js),
        script("console-webhooks.js", PackageResources.console_webhooks_js),
        script("console-limits.js", PackageResources.console_limits_js),
        script("console-configuration.js", PackageResources.console_configuration_js),
        script("console-snippets.js", PackageResources.console_snippets_js),
    ]

    private static func script(_ name: String, _ bytes: [UInt8]) -> BrowserFile {
        BrowserFile(name: name, contentType: "text/javascript; charset=utf-8", bytes: bytes)
    }

    /// The decryption of encrypted channels.
    package static let encrypted = script(
        "fanfare-encrypted.js",
        ScriptParts(main: PackageResources.encrypted_js, others: []).module
    )

    /// The files for any web page.
    package static let all = [
        encrypted,
        BrowserFile(
            name: "fanfare.js",
            contentType: "text/javascript; charset=utf-8",
            bytes: ScriptParts(
                main: PackageResources.fanfare_js,
                others: [
                    PackageResources.bindings_js, PackageResources.channel_js,
                    PackageResources.subscription_js,
                    PackageResources.tracking_js, PackageResources.followed_state_js,
                    PackageResources.left_channels_js, PackageResources.outbox_js,
                    PackageResources.authorization_js,
                    PackageResources.pauses_js,
                ]
            ).module
        ),
        BrowserFile(
            name: "fanfare-pusher.js",
            contentType: "text/javascript; charset=utf-8",
            bytes: ScriptParts(
                main: PackageResources.fanfare_pusher_js,
                others: [
                    PackageResources.tracking_js, PackageResources.followed_state_js,
                    PackageResources.left_channels_js, PackageResources.pauses_js,
                ]
            ).script
        ),
        BrowserFile(
            name: "fanfare.d.ts",
            contentType: "application/typescript; charset=utf-8",
            bytes: PackageResources.fanfare_d_ts
        ),
        BrowserFile(
            name: "fanfare-pusher.d.ts",
            contentType: "application/typescript; charset=utf-8",
            bytes: PackageResources.fanfare_pusher_d_ts
        ),
    ]
}
