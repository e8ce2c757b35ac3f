import Foundation
import HTTP1
package import HTTPServer

/// The fields of a request's body, whichever way it was written.
package struct RequestFields: Equatable {
    private var values: [String: String]

    /// Reads a body that is a form or a JSON object.
    ///
    /// - Parameters:
    ///   - body: The bytes of the body.
    ///   - contentType: The `Content-Type` field; without one the body is taken for a form.
    /// - Throws: A ``RequestError`` that says how to write the body.
    package init(_ body: [UInt8], contentType: String?) throws(RequestError) {
        let type = contentType ?? "application/x-www-form-urlencoded"
        switch type.prefix(while: { $0 != ";" && $0 != " " }).lowercased() {
        case "application/json": values = try Self.readObject(body)
        case "application/x-www-form-urlencoded": values = try Self.readForm(body)
        default: throw .unsupportedContentType(type)
        }
    }

    /// Reads the body of a request.
    ///
    /// - Parameter request: One with a form or a JSON object for a body.
    /// - Throws: A ``RequestError`` that says how to write the body.
    package init(_ request: HTTPRequest) throws(RequestError) {
        try self.init(request.body, contentType: request.field("content-type"))
    }

    /// Whether there is such a field at all.
    package func has(_ field: String) -> Bool { values[field] != nil }

    /// A text without white space around it.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - limit: The most characters that the text may have.
    /// - Returns: The text, which is not empty.
    /// - Throws: The ``RequestError`` that says what is wrong with the field.
    package func text(_ field: String, limit: Int) throws(RequestError) -> String {
        guard let value = values[field] else { throw .missing(field: field) }
        let text = value.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else { throw .empty(field: field) }
        guard text.count <= limit else { throw .tooLong(field: field, limit: limit) }
        return text
    }

    /// A text as it was sent, white space and all; it may be empty.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - limit: The most Unicode scalars that the text may have.
    /// - Returns: The text.
    /// - Throws: The ``RequestError`` that says what is wrong with the field.
    package func verbatim(_ field: String, limit: Int) throws(RequestError) -> String {
        guard let value = values[field] else { throw .missing(field: field) }
        guard value.unicodeScalars.count <= limit else {
            throw .tooLong(field: field, limit: limit)
        }
        return value
    }

    /// An integer, which a form writes in digits and JSON may write either way.
    package func integer<I: FixedWidthInteger>(_ field: String) throws(RequestError) -> I {
        guard let value = values[field] else { throw .missing(field: field) }
        guard let integer = I(value) else { throw .notAnInteger(field: field) }
        return integer
    }

    private static func readObject(_ body: [UInt8]) throws(RequestError) -> [String: String] {
        do {
            return try JSONDecoder().decode([String: Scalar].self, from: Data(body))
                .mapValues(\.text)
        } catch {
            throw .notJSON
        }
    }

    private static func readForm(_ body: [UInt8]) throws(RequestError) -> [String: String] {
        guard let form = FormURLEncoded(decoding: body.span) else { throw .notAForm }
        // Of a field given twice the last counts, as in a JSON object.
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
