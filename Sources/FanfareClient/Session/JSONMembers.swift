import Primitives
import PusherProtocol

/// The members of a JSON object as text, so that numbers keep their digits.
struct JSONMembers {
    private let text: [UInt8]
    private(set) var names: [String] = []
    private var values: [String: JSONValue] = [:]

    /// Parses an object; `nil` for anything else.
    init?(_ json: String) { self.init(Array(json.utf8)) }

    /// Parses an object as UTF-8; `nil` for anything else.
    init?(_ json: [UInt8]) {
        text = json
        do {
            var scanner = JSONScanner()
            try scanner.beginObject(in: text.span)
            while let name = try scanner.nextName(in: text.span) {
                let name = name.string(in: text.span)
                if values.updateValue(try scanner.value(in: text.span), forKey: name) == nil {
                    names.append(name)
                }
            }
            try scanner.finish(in: text.span)
        } catch {
            return nil
        }
    }

    /// Returns a member that is an object.
    func object(_ name: String) -> JSONMembers? {
        values[name].flatMap { JSONMembers($0.token(in: text.span)) }
    }

    /// Returns a member as JSON text; `nil` also for `null`.
    func json(_ name: String) -> String? {
        values[name].flatMap {
            $0.kind == .null ? nil : String(decoding: $0.token(in: text.span), as: UTF8.self)
        }
    }

    /// Returns a member that is a string, as UTF-16.
    func codeUnits(_ name: String) -> [UInt16]? {
        values[name].flatMap { $0.kind == .string ? $0.codeUnits(in: text.span) : nil }
    }

    /// Returns a member that is an ID: a string, or the digits of a number.
    func identifier(_ name: String) -> String? {
        values[name].flatMap {
            $0.kind == .string || $0.kind == .number ? $0.string(in: text.span) : nil
        }
    }
}
