package import DemoSite

/// A list of users: every device can add, remove and move rows.
///
/// Apps written for the well-known tutorial and apps with live lists edit the same rows.
package enum RealtimeTable {
    /// Its page, its routes and its tables.
    package static let demo = Demo(
        name: "Realtime table",
        path: "/table/",
        files: [
            .page(
                title: "Realtime table",
                purpose: "One list, the same on every screen.",
                script: "table.js",
                content: PackageResources.content_html
            ),
            SiteFile("table.js", PackageResources.table_js),
        ],
        migrations: User.migrations
    ) { environment in
        let users = PublishedList<User>(
            ListStore(environment.database),
            channel: TableChange.channel,
            outbox: environment.outbox,
            translate: TableChange.events
        )
        return TutorialRoutes(users: users, database: environment.database).all
            + users.routes(below: "rows")
    }
}
