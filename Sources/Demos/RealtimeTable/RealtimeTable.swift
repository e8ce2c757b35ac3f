package import DemoSite

extension Demo {
    /// A list of users: any device can add one, remove one, and drag one to another place.
    package static let realtimeTable = Demo(
        name: "Realtime table",
        path: "/table/",
        files: [
            SiteFile("index.html", PackageResources.index_html),
            SiteFile("table.js", PackageResources.table_js),
            SiteFile("list.js", PackageResources.list_js),
            SiteFile("rows.js", PackageResources.rows_js),
        ],
        migrations: [.createUsers]
    ) { backstage in
        let users = UserList(
            store: UserStore(database: backstage.database),
            outbox: backstage.outbox
        )
        return Routes(users: users).all
    }
}
