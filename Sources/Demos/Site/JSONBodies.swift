import Foundation
package import HTTP1
package import HTTPServer
import PusherProtocol

extension Response {
    /// Returns a response with status 200 and a value as JSON with sorted keys.
    package static func encoding(_ value: some Encodable) throws -> Response {
        .json(Array(try JSONText.encode(value).utf8))
    }

    /// Returns the response to a refused request, with the reason as `{"error": "…"}`.
    static func refusing(_ error: RequestError) -> Response {
        failing(error.status, error.description)
    }

    /// Returns a response with `{"error": "…"}`.
    static func failing(_ status: Status, _ sentence: String) -> Response {
        let body = (try? JSONText.encode(["error": sentence])) ?? "{}"
        return .json(Array(body.utf8), status: status)
    }
}

extension HTTPRequest {
    /// Decodes the body as JSON; throws ``RequestError/unreadable(_:)`` with the path of the error.
    package func decode<Value: Decodable>(_ type: Value.Type) throws(RequestError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(JSONEscapes.repaired(body) ?? body))
        } catch let error as DecodingError {
            throw .unreadable(error.pathAndReason)
        } catch {
            throw .notJSON
        }
    }
}

/// The JSON encoding of the demos.
package enum JSONText {
    /// Encodes a value with sorted keys, so that equal values have equal texts.
    package static func encode(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

extension DecodingError {
    /// The path and the error: `operations.0.row: …`.
    fileprivate var pathAndReason: String {
        let context: Context
        var path: [any CodingKey]
        switch self {
        case .keyNotFound(let key, let found): (context, path) = (found, found.codingPath + [key])
        case .valueNotFound(_, let found), .typeMismatch(_, let found), .dataCorrupted(let found):
            (context, path) = (found, found.codingPath)
        @unknown default: return "\(self)"
        }
        let keys = path.map { $0.intValue.map(String.init) ?? $0.stringValue }
        return (keys.isEmpty ? "" : keys.joined(separator: ".") + ": ") + context.debugDescription
    }
}
