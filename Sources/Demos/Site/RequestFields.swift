import Foundation
import HTTP1
package import HTTPServer
import PusherProtocol

/// The fields of a request's body, which is a form or a JSON object.
package struct RequestFields: Equatable {
    private var values: [String: String]

    /// Parses a JSON object or a form; a missing content type means a form.
    package init(_ body: [UInt8], contentType: String?) throws(RequestError) {
        let type = contentType ?? "application/x-www-form-urlencoded"
        switch type.prefix(while: { $0 != ";" && $0 != " " }).lowercased() {
        case "application/json": values = try Self.readObject(body)
        case "application/x-www-form-urlencoded": values = try Self.readForm(body)
        default: throw .unsupportedContentType(type)
        }
    }

    /// Parses the body of a request; throws a ``RequestError`` if it is neither a form nor a JSON object.
    package init(_ request: HTTPRequest) throws(RequestError) {
        try self.init(request.body, contentType: request.field("content-type"))
    }

    /// Whether the field exists.
    package func has(_ field: String) -> Bool { values[field] != nil }

    /// Returns a field of 1 to `limit` characters without white space around it; throws a ``RequestError``.
    package func text(_ field: String, limit: Int) throws(RequestError) -> String {
        guard let value = values[field] else { throw .missing(field: field) }
        let text = value.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else { throw .empty(field: field) }
        guard text.count <= limit else { throw .tooLong(field: field, limit: limit) }
        return text
    }

    /// Returns a field unchanged, of 0 to `limit` Unicode scalars; throws a ``RequestError``.
    package func verbatim(_ field: String, limit: Int) throws(RequestError) -> String {
        guard let value = values[field] else { throw .missing(field: field) }
        guard value.unicodeScalars.count <= limit else {
            throw .tooLong(field: field, limit: limit)
        }
        return value
    }

    /// Returns an integer; JSON may contain it as a number or as a string.
    package func integer<I: FixedWidthInteger>(_ field: String) throws(RequestError) -> I {
        guard let value = values[field] else { throw .missing(field: field) }
        guard let integer = I(value) else { throw .notAnInteger(field: field) }
        return integer
    }

    private static func readObject(_ body: [UInt8]) throws(RequestError) -> [String: String] {
        do {
            // A field may be text that was cut inside an emoji.
            let body = Data(JSONEscapes.repaired(body) ?? body)
            return try JSONDecoder().decode([String: Scalar].self, from: body).mapValues(\.text)
        } catch {
            throw .notJSON
        }
    }

    private static func readForm(_ body: [UInt8]) throws(RequestError) -> [String: String] {
        guard let form = FormURLEncoded(decoding: body.span) else { throw .notAForm }
        // The last of equal names wins, as in a JSON object.
        return Dictionary(form.pairs.map { ($0.name, $0.value) }) { $1 }
    }
}

/// A JSON string or integer.
private struct Scalar: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let integer = try? value.decode(Int64.self) {
            text = String(integer)
        } else {
            text = try value.decode(String.self)
        }
    }
}
