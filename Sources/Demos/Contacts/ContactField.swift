import Foundation

/// A field of a contact that can be written, and what may be written into it.
enum ContactField: String, Sendable, CaseIterable {
    case name, phone, email, note

    /// The most characters that it takes.
    var lengthMax: Int {
        switch self {
        case .name: 100
        case .phone: 40
        // RFC 5321 §4.5.3.1.3: a path has 256 octets at most, two of which are its angle brackets.
        case .email: 254
        case .note: 1_000
        }
    }

    /// A text as the store takes it: without white space around it.
    ///
    /// - Parameter text: What was written.
    /// - Returns: The text; empty only where that is allowed.
    /// - Throws: A ``FieldRefusal`` that says what to write instead.
    func checked(_ text: String) throws(FieldRefusal) -> String {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard text.count <= lengthMax else {
            throw FieldRefusal(
                field: self,
                description:
                    "The \(rawValue) has \(text.count) characters; \(lengthMax) are the most."
            )
        }
        switch self {
        case .name where text.isEmpty: throw .noName
        case .phone where !text.isEmpty: try checkPhone(text)
        case .email where !text.isEmpty: try checkEmail(text)
        default: break
        }
        return text
    }

    private func checkPhone(_ text: String) throws(FieldRefusal) {
        guard text.allSatisfy({ $0.isASCII && ($0.isNumber || "+-/(). ".contains($0)) }),
            text.contains(where: \.isNumber)
        else {
            throw FieldRefusal(
                field: self,
                description:
                    "A phone number has digits, spaces and + - / ( ) . only; “\(text)” has not."
            )
        }
    }

    /// As little as it takes to find what was forgotten; what an address may be, only its server knows.
    private func checkEmail(_ text: String) throws(FieldRefusal) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
            !text.contains(where: \.isWhitespace)
        else {
            throw FieldRefusal(
                field: self,
                description: "An e-mail address is like ada@example.org; “\(text)” is not."
            )
        }
    }
}

/// Why a field is not taken.
struct FieldRefusal: Error, Equatable, CustomStringConvertible {
    /// The field.
    let field: ContactField
    /// What is wrong with it, as a sentence for who has written it.
    let description: String

    static let noName = FieldRefusal(field: .name, description: "A contact needs a name.")
}

/// What was written into the fields; `nil` for those that are not touched.
struct ContactEdit: Decodable, Equatable, Sendable {
    var name: String?
    var phone: String?
    var email: String?
    var note: String?
}
