import BrowserClient
import HTTP1

/// A file of a page, embedded in the program.
package struct SiteFile: Sendable {
    /// The name; its extension determines the content type.
    package let name: String
    let bytes: [UInt8]
    let contentType: String

    /// Creates a file from an embedded resource.
    ///
    /// - Parameters:
    ///   - name: The name below the demo's path, with the extension `.html`, `.css`, `.js`, `.json` or `.svg`.
    ///   - bytes: The content.
    package init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
        let ending = name.split(separator: ".").last.map(String.init) ?? ""
        guard let contentType = Self.contentTypes[ending] else {
            preconditionFailure("\(name) has an unknown extension")
        }
        self.contentType = contentType
    }

    private static let contentTypes = [
        "html": "text/html; charset=utf-8",
        "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "json": "application/json",
        "svg": "image/svg+xml",
    ]

    /// Returns a response with the file, and a content security policy that allows scripts from these sources.
    func response(allowing scripts: [String]) -> Response {
        let sources = (["'self'"] + scripts).joined(separator: " ")
        return Response(
            status: 200,
            fields: [
                Field("Content-Type", contentType),
                // The page of a new build must show immediately.
                Field("Cache-Control", "no-cache"),
                Field("X-Content-Type-Options", "nosniff"),
                // Text in a name or an event must never run as a script.
                Field(
                    "Content-Security-Policy",
                    "default-src 'self'; connect-src *; base-uri 'none'; script-src \(sources)"
                ),
            ],
            body: bytes
        )
    }
}

/// The files that all pages share, and the site's home page.
enum SharedFiles {
    static let all: [SiteFile] = [
        .home,
        SiteFile("site.css", PackageResources.site_css),
        SiteFile("landing.css", PackageResources.landing_css),
        SiteFile("landing.js", PackageResources.landing_js),
        SiteFile("icon.svg", PackageResources.icon_svg),
        SiteFile("row-icons.svg", PackageResources.row_icons_svg),
        SiteFile("pusher-js.js", PackageResources.pusher_js_js),
        SiteFile("broker.js", PackageResources.broker_js),
        SiteFile("backend.js", PackageResources.backend_js),
        SiteFile("me.js", PackageResources.me_js),
        SiteFile("people.js", PackageResources.people_js),
        SiteFile("offline.js", PackageResources.offline_js),
        SiteFile("site.js", PackageResources.site_js),
        SiteFile("live-list.js", PackageResources.live_list_js),
        SiteFile("fanfare-live.js", BrowserFile.live.bytes),
        SiteFile("rows.js", PackageResources.rows_js),
    ]
}
