import Foundation

/// A field of a contact and its validation.
enum ContactField: String, Sendable, CaseIterable {
    case name, phone, email, note

    /// The maximum length, in characters.
    var lengthMax: Int {
        switch self {
        case .name: 100
        case .phone: 40
        // RFC 5321 §4.5.3.1.3: a path has at most 256 octets, two of which are its angle brackets.
        case .email: 254
        case .note: 1_000
        }
    }

    /// Returns text without white space around it, empty only if the field allows it; throws a ``FieldRefusal``.
    func checked(_ text: String) throws(FieldRefusal) -> String {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard text.count <= lengthMax else {
            throw FieldRefusal(
                field: self,
                description:
                    "The \(rawValue) has \(text.count) characters; the limit is \(lengthMax)."
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

    /// Checks for obvious typing errors; only the mail server knows the valid addresses.
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

/// The reason for which a field is invalid.
struct FieldRefusal: Error, Equatable, CustomStringConvertible {
    /// The field.
    let field: ContactField
    /// The reason, as a sentence for the user.
    let description: String

    static let noName = FieldRefusal(field: .name, description: "A contact needs a name.")
}

/// The entered fields; `nil` for unchanged ones.
struct ContactEdit: Decodable, Equatable, Sendable {
    var name: String?
    var phone: String?
    var email: String?
    var note: String?
}
