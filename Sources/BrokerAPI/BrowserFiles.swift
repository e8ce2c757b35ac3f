import BrowserClient
import Digests
package import HTTP1
package import HTTPServer
import Primitives

/// Serves the browser client, its parts and the add-on for pusher-js, with their types, below the path prefix: `/fanfare.js`
/// and what else ``BrowserFile/all`` has.
///
/// The contents are part of the program. Any page may load them, from any origin.
package struct BrowserFiles: Sendable {
    fileprivate struct Resource {
        let file: BrowserFile
        /// The digest of the content, for its entity tags.
        let digest: String
    }

    private let resources: [String: Resource]
    private let pathPrefix: String

    /// What the paths of all files begin with, behind the prefix.
    private static let start: StaticString = "/fanfare"

    /// Prepares the responses.
    ///
    /// - Parameter pathPrefix: The value of `listen.path_prefix`.
    package init(pathPrefix: String) {
        self.pathPrefix = pathPrefix
        resources = Dictionary(
            uniqueKeysWithValues: BrowserFile.all.map { ("/\($0.name)", Resource($0)) }
        )
    }

    /// The decision on a request; `nil` if it is for another path.
    package func decide(on head: RequestHead) -> HTTPDecision? {
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
        self.file = file
        digest = Hex.encode(Array(Digest.sha256(file.bytes.span).prefix(8)))
    }

    /// The response to GET and HEAD: the file, or 304 if the client has it.
    fileprivate func response(to head: RequestHead) -> Response {
        let isCompressed = head.field("accept-encoding", contains: "gzip")
        let entityTag = isCompressed ? "\"\(digest)-gzip\"" : "\"\(digest)\""
        // Another version gets the file too, since a page must not fail behind an upgrade.
        let isVersioned = head.query == "v=\(BrowserFile.version)"
        var response = Response(
            status: 304,
            fields: [
                Field(
                    "Cache-Control",
                    isVersioned ? "public, max-age=31536000, immutable" : "no-cache"
                ),
                Field("ETag", entityTag),
                Field("Vary", "Accept-Encoding"),
                Field("Access-Control-Allow-Origin", "*"),
                // For pages that are isolated from other origins.
                Field("Cross-Origin-Resource-Policy", "cross-origin"),
                Field("X-Content-Type-Options", "nosniff"),
            ]
        )
        guard !head.fields("if-none-match").contains(where: { Self.list($0, has: entityTag) })
        else { return response }
        response.status = 200
        response.fields.append(Field("Content-Type", file.contentType))
        if isCompressed { response.fields.append(Field("Content-Encoding", "gzip")) }
        response.body = isCompressed ? file.gzipped : file.bytes
        return response
    }

    /// Whether a list of entity tags has this one (RFC 9110 §13.1.2, weak comparison).
    private static func list(_ field: String, has entityTag: String) -> Bool {
        field.utf8.split(separator: UInt8(ascii: ",")).contains { element in
            let tag = element.drop(while: Self.isBlank)
            let opaque = tag.starts(with: "W/".utf8) ? tag.dropFirst(2) : tag
            let text = opaque.prefix { !Self.isBlank($0) }
            return text.elementsEqual(entityTag.utf8) || text.elementsEqual("*".utf8)
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
