import HTTP1

/// A file of a page, which is part of the program.
package struct SiteFile: Sendable {
    /// Its name; the ending says what it is.
    package let name: String
    let bytes: [UInt8]
    let contentType: String

    /// Takes a file that was embedded.
    ///
    /// - Parameters:
    ///   - name: Its name below the demo's path; it ends in `.html`, `.css`, `.js`, `.json` or `.svg`.
    ///   - bytes: Its content.
    package init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
        let ending = name.split(separator: ".").last.map(String.init) ?? ""
        guard let contentType = Self.contentTypes[ending] else {
            preconditionFailure("\(name) has an ending whose content type is not known")
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

    /// The answer with the file.
    ///
    /// - Parameter script: A script from elsewhere that the page may load; `nil` for none.
    /// - Returns: The answer, with what the page may do.
    func response(allowing script: String?) -> Response {
        let scripts = script.map { "; script-src 'self' \($0)" } ?? ""
        return Response(
            status: 200,
            fields: [
                Field("Content-Type", contentType),
                // The next build's page is to be seen at once.
                Field("Cache-Control", "no-cache"),
                Field("X-Content-Type-Options", "nosniff"),
                // What is text in a name or an event must never become a script.
                Field(
                    "Content-Security-Policy",
                    "default-src 'self'; connect-src *; base-uri 'none'\(scripts)"
                ),
            ],
            body: bytes
        )
    }
}
