package import DemoSite

/// An address book with three screens; each follows a model in the store.
package enum Contacts {
    /// Its page, its routes and its tables.
    package static let demo = Demo(
        name: "Contacts",
        path: "/contacts/",
        files: [
            .page(
                title: "Contacts",
                purpose: "Every screen follows its model, without a refresh.",
                style: "contacts.css",
                script: "contacts.js",
                content: PackageResources.content_html
            ),
            SiteFile("contacts.css", PackageResources.contacts_css),
            SiteFile("contacts.js", PackageResources.contacts_js),
            SiteFile("state.js", PackageResources.state_js),
            SiteFile("list-builder.js", PackageResources.list_builder_js),
            SiteFile("list-view.js", PackageResources.list_view_js),
            SiteFile("add-builder.js", PackageResources.add_builder_js),
            SiteFile("add-view.js", PackageResources.add_view_js),
            SiteFile("details-builder.js", PackageResources.details_builder_js),
            SiteFile("details-view.js", PackageResources.details_view_js),
            SiteFile("fields.js", PackageResources.fields_js),
            SiteFile("section-changes.js", PackageResources.section_changes_js),
            SiteFile("table.js", PackageResources.table_js),
            SiteFile("cells.js", PackageResources.cells_js),
            SiteFile("provider.js", PackageResources.provider_js),
            SiteFile("backend-service.js", PackageResources.backend_service_js),
            SiteFile("browser-service.js", PackageResources.browser_service_js),
            SiteFile("snapshots.js", PackageResources.snapshots_js),
        ],
        migrations: [Contact.migration]
    ) { environment in
        let contacts = PublishedContacts(
            store: ContactStore(database: environment.database),
            outbox: environment.outbox
        )
        return ContactRoutes(contacts: contacts).all
    }
}
