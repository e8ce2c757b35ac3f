/// The files that all pages share, and the page that leads to them.
enum SharedFiles {
    static let all = [
        SiteFile("index.html", PackageResources.index_html),
        SiteFile("site.css", PackageResources.site_css),
        SiteFile("landing.css", PackageResources.landing_css),
        SiteFile("icon.svg", PackageResources.icon_svg),
        SiteFile("fanfare.js", PackageResources.fanfare_js),
        SiteFile("pusher-js.js", PackageResources.pusher_js_js),
        SiteFile("broker.js", PackageResources.broker_js),
        SiteFile("backend.js", PackageResources.backend_js),
        SiteFile("me.js", PackageResources.me_js),
        SiteFile("site.js", PackageResources.site_js),
        SiteFile("live-list.js", PackageResources.live_list_js),
        SiteFile("list-model.js", PackageResources.list_model_js),
        SiteFile("row-changes.js", PackageResources.row_changes_js),
        SiteFile("rows.js", PackageResources.rows_js),
    ]
}
