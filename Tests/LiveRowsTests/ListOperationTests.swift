import Foundation
import LiveRows
import Testing

@Suite("List operations as JSON") struct ListOperationTests {
    static let operations: [(String, ListOperation<Person>)] = [
        (#"{"after":2,"op":"put","row":{"id":1,"name":"Ann"}}"#, .put(Person(1, "Ann"), after: 2)),
        (
            #"{"after":null,"op":"put","row":{"id":1,"name":"Ann"}}"#,
            .put(Person(1, "Ann"), after: nil)
        ),
        (#"{"after":2,"id":1,"op":"move"}"#, .move(1, after: 2)),
        (#"{"after":null,"id":1,"op":"move"}"#, .move(1, after: nil)),
        (#"{"op":"update","row":{"id":1,"name":"Ann"}}"#, .update(Person(1, "Ann"))),
        (#"{"id":1,"op":"remove"}"#, .remove(1)),
    ]

    @Test(
        "An operation is decoded and encoded in the wire format of live lists",
        arguments: operations
    )
    func both(json: String, operation: ListOperation<Person>) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(operation), as: UTF8.self) == json)
        let decoded = try JSONDecoder().decode(ListOperation<Person>.self, from: Data(json.utf8))
        #expect(decoded == operation)
    }

    @Test(
        "What is no operation is refused",
        arguments: [
            "{}", #"{"op":"swap","id":1}"#, #"{"op":"move","after":1}"#, #"{"op":"put","after":1}"#,
        ]
    )
    func refusal(json: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(ListOperation<Person>.self, from: Data(json.utf8))
        }
    }
}
