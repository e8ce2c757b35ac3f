import Foundation
package import HTTP1
package import HTTPServer

extension Response {
    /// An answer with a value as JSON, its keys in order.
    ///
    /// - Parameter value: The content.
    /// - Returns: The answer, with status 200.
    /// - Throws: The `EncodingError` of a value that JSON has no form for.
    package static func encoding(_ value: some Encodable) throws -> Response {
        .json(Array(try JSONText.encode(value).utf8))
    }

    /// The answer to a request that is refused, with the reason as `{"error": "…"}`.
    static func refusing(_ error: RequestError) -> Response {
        failing(error.status, error.description)
    }

    /// An answer with `{"error": "…"}`.
    static func failing(_ status: Status, _ sentence: String) -> Response {
        let body = (try? JSONText.encode(["error": sentence])) ?? "{}"
        return .json(Array(body.utf8), status: status)
    }
}

extension HTTPRequest {
    /// The body, read as JSON.
    ///
    /// - Parameter type: What it must be.
    /// - Returns: The value.
    /// - Throws: ``RequestError/unreadable(_:)``, which names the place that does not fit.
    package func decode<Value: Decodable>(_ type: Value.Type) throws(RequestError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch let error as DecodingError {
            throw .unreadable(error.place)
        } catch {
            throw .notJSON
        }
    }
}

/// JSON as the demos write it.
package enum JSONText {
    /// Writes a value with its keys in order, so that equal values are equal texts.
    ///
    /// - Parameter value: What to write.
    /// - Returns: The text.
    /// - Throws: The `EncodingError` of a value that JSON has no form for.
    package static func encode(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

extension DecodingError {
    /// What is wrong, and where: `operations.0.row: …`.
    fileprivate var place: String {
        let context: Context
        var path: [any CodingKey]
        switch self {
        case .keyNotFound(let key, let found): (context, path) = (found, found.codingPath + [key])
        case .valueNotFound(_, let found), .typeMismatch(_, let found), .dataCorrupted(let found):
            (context, path) = (found, found.codingPath)
        @unknown default: return "\(self)"
        }
        let place = path.map { $0.intValue.map(String.init) ?? $0.stringValue }
        return (place.isEmpty ? "" : place.joined(separator: ".") + ": ") + context.debugDescription
    }
}
