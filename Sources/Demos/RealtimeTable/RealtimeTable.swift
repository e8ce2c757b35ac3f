package import DemoSite

extension Demo {
    /// A list of users: every device can add, remove and move rows.
    ///
    /// Apps written for the well-known tutorial and apps with live lists edit the same rows.
    package static let realtimeTable = Demo(
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
        migrations: [.createUsers, .touchUsers]
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
