package import DemoSite

extension Demo {
    /// A text that everybody edits at the same time, old clients of the well-known tutorial among them.
    package static let collaborativeText = Demo(
        name: "Text editor",
        path: "/text/",
        files: [
            SiteFile("index.html", PackageResources.index_html),
            SiteFile("text.css", PackageResources.text_css),
            SiteFile("text.js", PackageResources.text_js),
            SiteFile("live-text.js", PackageResources.live_text_js),
            SiteFile("carets.js", PackageResources.carets_js),
            SiteFile("undo.js", PackageResources.undo_js),
            SiteFile("unsent.js", PackageResources.unsent_js),
        ],
        migrations: [.createText],
        channels: ["presence-text"]
    ) { backstage in
        let text = try SharedText(
            store: TextStore(database: backstage.database),
            outbox: backstage.outbox
        )
        return TextRoutes(text: text).all
    }
}
