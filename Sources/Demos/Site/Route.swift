package import HTTP1
package import HTTPServer

/// What a demo does for one method and one path.
package struct Route: Sendable {
    /// Answers a request; a ``RequestError`` becomes the answer that it describes.
    package typealias Action = @Sendable (HTTPRequest) async throws -> Response

    let method: Method
    let path: String
    let action: Action

    /// Answers GET, and HEAD without the content.
    ///
    /// - Parameters:
    ///   - path: Below the demo's path, or from the site's root when it begins with a slash.
    ///   - action: Answers a request.
    /// - Returns: The route.
    package static func get(_ path: String, _ action: @escaping Action) -> Route {
        Route(method: .get, path: path, action: action)
    }

    /// Answers POST.
    ///
    /// - Parameters:
    ///   - path: Below the demo's path, or from the site's root when it begins with a slash.
    ///   - action: Answers a request.
    /// - Returns: The route.
    package static func post(_ path: String, _ action: @escaping Action) -> Route {
        Route(method: .post, path: path, action: action)
    }
}
