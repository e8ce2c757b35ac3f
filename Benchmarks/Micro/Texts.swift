import Primitives
import PusherProtocol
import WebSocket

/// UTF-8 and JSON.
enum Texts {
    static var subjects: [Subject] {
        [
            utf8("utf8-ascii", "the quick brown fox jumps over the lazy dog; "),
            utf8("utf8-mixed", "Übermäßig große Wörter, 漢字 und 🐎 "), scan, trigger,
        ]
    }

    private static let event = Array(
        """
        {"name":"price","channel":"items-eu","data":"{\\"item\\":12,\\"price\\":\\"13.40\\",\
        \\"note\\":\\"changed from eleven to thirteen in the EU region\\"}"}
        """.utf8
    )

    private static func utf8(_ name: String, _ text: String) -> Subject {
        let bytes = Array(String(repeating: text, count: 1024 / text.utf8.count + 1).utf8)
        return Subject(name: name, operation: "\(bytes.count) bytes") {
            var validator = UTF8Validator()
            consume(validator.accept(bytes.span))
        }
    }

    private static var scan: Subject {
        Subject(name: "json-scan", operation: "a JSON text of \(event.count) bytes, validated") {
            do {
                consume(try JSONScanner.scan(event.span))
            } catch {
                fail("\(error)")
            }
        }
    }

    private static var trigger: Subject {
        Subject(
            name: "trigger-parse",
            operation: "the body of POST events, of \(event.count) bytes, to an event"
        ) {
            do {
                consume(try TriggerRequest.parse(event.span))
            } catch {
                fail("\(error)")
            }
        }
    }
}
