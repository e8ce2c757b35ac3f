import Foundation
import Testing

@testable import LiveCollections

@Suite("A shared text as JSON")
struct TextJSONTests {
    private static let batch = """
        {"epoch":1,"number":3,"operations":[{"after":[2,9],"insert":"Hi 👋","time":5},\
        {"insert":"\\n","time":9},{"delete":[2,9,1]}],"replica":7}
        """
    private static let snapshot = """
        {"epoch":1,"replicas":[9,7],"runs":[[0,1,"a"],[0,2,1],[1,5,"Hi"]],"serial":4,"time":6,\
        "version":[[7,2],[9,2]]}
        """
    private static let entry = """
        {"epoch":1,"number":3,"operations":[{"delete":[2,9,1]}],"replica":7,"serial":8}
        """

    private func roundTrip<Value: Codable>(_ text: String, _: Value.Type) throws -> String {
        let value = try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    @Test("Every value is encoded as it was decoded")
    func forms() throws {
        #expect(try roundTrip(Self.batch, TextBatch.self) == Self.batch)
        #expect(try roundTrip(Self.snapshot, TextSnapshot.self) == Self.snapshot)
        #expect(try roundTrip(Self.entry, TextEntry.self) == Self.entry)
        let epoch = #"{"epoch":2,"serial":9}"#
        #expect(try roundTrip(epoch, TextEntry.self) == epoch)
        let entries = #"{"entries":[\#(epoch)],"serial":9}"#
        #expect(try roundTrip(entries, TextRecovery.self) == entries)
        let recovery = #"{"snapshot":\#(Self.snapshot)}"#
        #expect(try roundTrip(recovery, TextRecovery.self) == recovery)
        let cursor = #"{"anchor":["start"],"focus":["before",5,7]}"#
        #expect(try roundTrip(cursor, TextCursor.self) == cursor)
    }

    @Test(
        "What is none of it is refused",
        arguments: [
            #"{"epoch":1,"number":1,"operations":[],"replica":0}"#,
            #"{"epoch":1,"number":1,"operations":[],"replica":281474976710656}"#,
            #"{"epoch":1,"number":1,"operations":[{"insert":"x","time":9007199254740992}],"replica":7}"#,
            #"{"epoch":1,"number":1,"operations":[{"insert":"x","time":-1}],"replica":7}"#,
            #"{"epoch":1,"number":1,"operations":[{}],"replica":7}"#,
        ]
    )
    func refusals(_ text: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(TextBatch.self, from: Data(text.utf8))
        }
    }

    @Test("Each part of a long insertion fits into an event, with any escapes")
    func parts() throws {
        var text = TextDocument(replica: .random())
        let pasted = String(repeating: "\u{1}\"\\👋\n", count: 1_500)
        var batch = try text.replace(0..<0, with: pasted)
        batch.append(try text.replace(0..<9, with: ""))
        let parts = batch.parts()
        #expect(parts.count > 3)
        var copy = TextDocument(replica: .random())
        for part in parts {
            #expect(try JSONEncoder().encode(part).count <= TextBatch.lengthMax)
            try copy.apply(part)
        }
        #expect(copy.string == text.string)
    }
}
