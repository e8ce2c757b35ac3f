extension SiteFile {
    /// Creates the page of a demo: the parts that all pages share, around the demo's own content.
    ///
    /// - Parameters:
    ///   - title: The title, as HTML.
    ///   - purpose: The line below the title, as HTML.
    ///   - style: The name of its style sheet; `nil` if the site's is enough.
    ///   - script: The name of its module.
    ///   - content: The content below the title, as HTML.
    /// - Returns: The file `index.html`.
    package static func page(
        title: String,
        purpose: String,
        style: String? = nil,
        script: String,
        content: [UInt8]
    ) -> SiteFile {
        page(
            title: title,
            heading: title,
            purpose: purpose,
            before: #"<a href="/" aria-label="All demos">\#(icon)</a>"#,
            behind: #"<button id="offline" type="button" hidden>Go offline</button>"#,
            styles: ["/site.css"] + (style.map { [$0] } ?? []),
            script: script,
            content: content
        )
    }

    /// The home page; its panes have the button to go offline.
    static let home = page(
        title: "Fanfare: six live apps",
        heading: "Fanfare",
        purpose: "Sends events to browsers, phones and servers the moment they happen.",
        before: icon,
        behind: "",
        styles: ["/site.css", "landing.css"],
        script: "landing.js",
        content: PackageResources.content_html
    )

    private static let icon = #"<img src="/icon.svg" alt="" width="44" height="44">"#

    /// Creates a page; `before` and `behind` are HTML at the two ends of the header.
    private static func page(
        title: String,
        heading: String,
        purpose: String,
        before: String,
        behind: String,
        styles: [String],
        script: String,
        content: [UInt8]
    ) -> SiteFile {
        let links = styles.map { #"<link rel="stylesheet" href="\#($0)">"# }
        let html = """
            <!doctype html>
            <html lang="en">
            <head>
              <meta charset="utf-8">
              <meta name="viewport" content="width=device-width, initial-scale=1">
              <meta name="color-scheme" content="light dark">
              <title>\(title)</title>
              <link rel="icon" href="/icon.svg" type="image/svg+xml">
              \(links.joined(separator: "\n  "))
              <script type="module" src="\(script)"></script>
            </head>
            <body>
              <main>
                <header>
                  \(before)
                  <div>
                    <h1>\(heading)</h1>
                    <p>\(purpose)</p>
                  </div>
                  <p id="connection" data-state="connecting" role="status">Connecting</p>
                  \(behind)
                </header>

                <div id="problems" role="alert"></div>

            \(String(decoding: content, as: UTF8.self))
              </main>

              <div id="notices" role="status"></div>
              <p id="spoken" class="unseen" aria-live="polite"></p>
            </body>
            </html>

            """
        return SiteFile("index.html", Array(html.utf8))
    }
}
