package import DemoSite

/// A text for concurrent editing, including by clients of the well-known tutorial.
package enum CollaborativeText {
    /// Its page, its routes and its tables.
    package static let demo = Demo(
        name: "Text editor",
        path: "/text/",
        files: [
            .page(
                title: "Text editor",
                purpose: "One text that all users edit at the same time.",
                style: "text.css",
                script: "text.js",
                content: PackageResources.content_html
            ),
            SiteFile("text.css", PackageResources.text_css),
            SiteFile("text.js", PackageResources.text_js),
            SiteFile("live-text.js", PackageResources.live_text_js),
            SiteFile("carets.js", PackageResources.carets_js),
            SiteFile("undo.js", PackageResources.undo_js),
        ],
        migrations: [TextStore.migration],
        channels: ["presence-text"]
    ) { environment in
        let text = try SharedText(
            store: TextStore(database: environment.database),
            outbox: environment.outbox
        )
        return TextRoutes(text: text).all
    }
}
