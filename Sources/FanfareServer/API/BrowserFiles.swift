import BrowserClient
import Digests
import HTTP1
import HTTPServer
import Primitives

/// Serves the browser client and the add-on for pusher-js, below the path prefix: `/fanfare.js`, `/fanfare-pusher.js`
/// and `/fanfare.d.ts`.
///
/// The contents are part of the program. Any page may load them, from any origin.
struct BrowserFiles: Sendable {
    fileprivate struct Resource {
        /// The response, revalidated by caches at each use.
        let response: Response
        /// The response to a URL with the present version, which caches may keep for a year.
        let versioned: Response
        let entityTag: String
    }

    private let resources: [String: Resource]
    private let pathPrefix: String

    /// What the paths of all files begin with, behind the prefix.
    private static let start: StaticString = "/fanfare"

    /// Prepares the responses.
    ///
    /// - Parameter pathPrefix: The value of `listen.path_prefix`.
    init(pathPrefix: String) {
        self.pathPrefix = pathPrefix
        resources = Dictionary(
            uniqueKeysWithValues: BrowserFile.all.map { ("/\($0.name)", Resource($0)) }
        )
    }

    /// The decision on a request; `nil` if it is for another path.
    func decide(on head: RequestHead) -> HTTPDecision? {
        guard let resource = resource(of: head) else { return nil }
        switch head.method {
        case .get, .head: return .answer(resource.response(to: head))
        case .options: return .answer(.options(allowed: [.get, .head, .options]))
        default:
            return .answer(
                Response(refusing: .methodNotAllowed(head.method, allowed: [.get, .head]))
            )
        }
    }

    private func resource(of head: RequestHead) -> Resource? {
        head.withPath { path in
            let start = path.starts(with: pathPrefix) ? pathPrefix.utf8.count : 0
            let rest = path.extracting(start...)
            // Almost every request is for the API: it must not cost a string.
            guard rest.starts(with: Self.start) else { return nil }
            return resources[rest.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }]
        }
    }
}

extension BrowserFiles.Resource {
    fileprivate init(_ file: BrowserFile) {
        let entityTag = "\"\(Hex.encode(Array(Digest.sha256(file.bytes.span).prefix(8))))\""
        func response(cacheControl: String) -> Response {
            Response(
                status: 200,
                fields: [
                    Field("Content-Type", file.contentType),
                    Field("Cache-Control", cacheControl),
                    Field("ETag", entityTag),
                    Field("Access-Control-Allow-Origin", "*"),
                    // For pages that are isolated from other origins.
                    Field("Cross-Origin-Resource-Policy", "cross-origin"),
                    Field("X-Content-Type-Options", "nosniff"),
                ],
                body: file.bytes
            )
        }
        self.entityTag = entityTag
        self.response = response(cacheControl: "no-cache")
        versioned = response(cacheControl: "public, max-age=31536000, immutable")
    }

    /// The response to GET and HEAD: the file, or 304 if the client has it.
    fileprivate func response(to head: RequestHead) -> Response {
        // Another version gets the file too, since a page must not fail behind an upgrade.
        let isVersioned = head.query == "v=\(BrowserFile.version)"
        var response = isVersioned ? versioned : response
        if head.fields("if-none-match").contains(where: matches) {
            response.status = 304
            response.body = []
            response.fields.removeAll { $0.name == "Content-Type" }
        }
        return response
    }

    /// Whether a list of entity tags has the file's (RFC 9110 §13.1.2, weak comparison).
    private func matches(_ field: String) -> Bool {
        field.split(separator: ",").contains { element in
            let tag = element.drop { $0 == " " || $0 == "\t" }
            let opaque = tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
            return opaque.prefix { $0 != " " && $0 != "\t" } == entityTag || opaque == "*"
        }
    }
}
