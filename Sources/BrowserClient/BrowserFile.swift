/// A file for web pages that the program contains: the browser client, its parts, the add-on for pusher-js, and their types.
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

    /// The decryption of encrypted channels.
    package static let encrypted = module("fanfare-encrypted.js", PackageResources.encrypted_js)

    /// Live lists.
    package static let live = module(
        "fanfare-live.js",
        PackageResources.live_list_js,
        with: [
            PackageResources.bindings_js, PackageResources.holds_js, PackageResources.list_model_js,
            PackageResources.row_changes_js, PackageResources.requests_js,
            PackageResources.attempts_js, PackageResources.unsent_js, PackageResources.uuid_js,
        ]
    )

    /// The files for any web page, which the package for npm has too.
    package static let all = [
        module(
            "fanfare.js",
            PackageResources.fanfare_js,
            with: [
                PackageResources.bindings_js, PackageResources.channel_js,
                PackageResources.tracked_channel_js, PackageResources.subscription_js,
                PackageResources.tracking_js, PackageResources.followed_state_js,
                PackageResources.left_channels_js, PackageResources.outbox_js,
                PackageResources.authorization_js, PackageResources.pauses_js,
            ]
        ),
        script(
            "fanfare-pusher.js",
            ScriptParts(
                main: PackageResources.fanfare_pusher_js,
                others: [
                    PackageResources.tracked_channel_js, PackageResources.tracking_js,
                    PackageResources.followed_state_js, PackageResources.left_channels_js,
                    PackageResources.pauses_js,
                ]
            ).script
        ),
        encrypted,
        module("fanfare-history.js", PackageResources.history_js),
        live,
        module("fanfare-react.js", PackageResources.react_js, with: [PackageResources.holds_js]),
        module("fanfare-vue.js", PackageResources.vue_js, with: [PackageResources.holds_js]),
        types("fanfare.d.ts", PackageResources.fanfare_d_ts),
        types("fanfare-pusher.d.ts", PackageResources.fanfare_pusher_d_ts),
        types("fanfare-encrypted.d.ts", PackageResources.fanfare_encrypted_d_ts),
        types("fanfare-history.d.ts", PackageResources.fanfare_history_d_ts),
        types("fanfare-live.d.ts", PackageResources.fanfare_live_d_ts),
        types("fanfare-react.d.ts", PackageResources.fanfare_react_d_ts),
        types("fanfare-vue.d.ts", PackageResources.fanfare_vue_d_ts),
    ]

    private static func module(
        _ name: String,
        _ main: [UInt8],
        with others: [[UInt8]] = []
    ) -> BrowserFile {
        script(name, ScriptParts(main: main, others: others).module)
    }

    private static func script(_ name: String, _ bytes: [UInt8]) -> BrowserFile {
        BrowserFile(name: name, contentType: "text/javascript; charset=utf-8", bytes: bytes)
    }

    private static func types(_ name: String, _ bytes: [UInt8]) -> BrowserFile {
        BrowserFile(name: name, contentType: "application/typescript; charset=utf-8", bytes: bytes)
    }
}
