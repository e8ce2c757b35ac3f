package import DemoSite

extension Demo {
    /// A list of users: any device can add one, remove one, and drag one to another place.
    ///
    /// Apps that were written for the well-known tutorial, and those that know live lists, edit the same rows.
    package static let realtimeTable = Demo(
        name: "Realtime table",
        path: "/table/",
        files: [
            SiteFile("index.html", PackageResources.index_html),
            SiteFile("table.js", PackageResources.table_js),
        ],
        migrations: [.createUsers, .touchUsers]
    ) { backstage in
        let users = PublishedList<User>(
            ListStore(backstage.database),
            channel: TableChange.channel,
            outbox: backstage.outbox,
            translate: TableChange.announcements
        )
        return OldRoutes(users: users, database: backstage.database).all
            + users.routes(below: "rows")
    }
}
