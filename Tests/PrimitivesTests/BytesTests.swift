import Foundation
import Testing

@testable import Primitives

@Suite("Searches in borrowed bytes") struct BytesTests {
    @Test func theSearchEqualsALoop() {
        for length in 0...26 {
            for place in 0...length {
                for filler: UInt8 in [0x00, 0x25, 0x27, 0xA6] {
                    var text = [UInt8](repeating: filler, count: length)
                    if place < length { text[place] = 0x26 }
                    for start in 0...length {
                        let expected = text[start...].firstIndex(of: 0x26)
                        #expect(index(of: 0x26, in: text, from: start) == expected)
                    }
                }
            }
        }
    }

    @Test func theSearchByEightEqualsALoop() {
        for length in 0...26 {
            for byte in UInt8.min...UInt8.max {
                for place in 0..<max(length, 1) {
                    var text = [UInt8](repeating: UInt8(ascii: "~"), count: length)
                    if place < length { text[place] = byte }
                    let start = place / 2
                    #expect(
                        text.span.firstIndex(from: start) { $0.escaped | $0.notASCII }
                            == text[start...].firstIndex(where: isSpecial) ?? length
                    )
                    #expect(
                        text.span.firstIndex(from: start) { $0.capital }
                            == text[start...].firstIndex(where: isCapital) ?? length
                    )
                }
            }
        }
    }

    @Test func theFirstOfSeveralIsFound() {
        let text = Array("abcdefgh\"\\ABC\u{1}".utf8)
        #expect(text.span.firstIndex(from: 0) { $0.escaped } == 8)
        #expect(text.span.firstIndex(from: 9) { $0.escaped } == 9)
        #expect(text.span.firstIndex(from: 10) { $0.escaped } == 13)
        #expect(text.span.firstIndex(from: 0) { $0.capital } == 10)
    }

    @Test(arguments: ["", "1", "fifteen bytes, ", "sixteen bytes, é", "twenty-four bytes of it."])
    func aTextLendsItsBytes(text: String) throws {
        #expect(text.withUTF8Bytes { $0.copy() } == Array(text.utf8))
        #expect(throws: Refusal(length: text.utf8.count)) {
            try text.withUTF8Bytes { (bytes) throws(Refusal) in
                throw Refusal(length: bytes.count)
            }
        }
    }

    /// Swift 6.3 may misread the `utf8.span` of a short text in optimized builds, but tests run in debug builds.
    @Test func noSourceUsesUTF8Span() throws {
        let root = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let sources = try #require(
            FileManager.default.enumerator(
                at: root.appending(path: "Sources"),
                includingPropertiesForKeys: nil
            )
        )
        var count = 0
        for case let file as URL in sources where file.pathExtension == "swift" {
            count += 1
            let text = try String(contentsOf: file, encoding: .utf8)
            for line in text.split(separator: "\n") where !line.contains("//") {
                #expect(!line.contains("utf8.span"), "\(file.path): use withUTF8Bytes")
                #expect(!line.contains("utf8Span"), "\(file.path): use withUTF8Bytes")
            }
        }
        #expect(count > 100)
    }

    private struct Refusal: Error, Equatable {
        let length: Int
    }

    @Test(arguments: [
        ("", "a"), ("a", "b"), ("b", "aa"), ("ab", "ac"), ("az", "ba"), ("a\u{7F}", "é"),
    ])
    func theShorterComesFirst(lesser: String, greater: String) {
        let (lesser, greater) = (Array(lesser.utf8), Array(greater.utf8))
        #expect(lesser.span.order(against: greater.span) < 0)
        #expect(greater.span.order(against: lesser.span) > 0)
        #expect(lesser.span.order(against: lesser.span) == 0)
    }

    @Test(arguments: [0, 7, 10, 12_345, -1, .min, .max])
    func numbersAreWrittenInDigits(number: Int) {
        var text: [UInt8] = []
        text.append(decimal: number)
        #expect(text == Array("\(number)".utf8))
    }

    private func isSpecial(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private func isCapital(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }

    private func index(of byte: UInt8, in text: [UInt8], from start: Int) -> Int? {
        text.span.firstIndex(of: byte, from: start)
    }

    /// Comparisons with literals and texts equal a loop over their bytes.
    @Test func comparesWithLiterals() {
        for text in ["", "a", "get", "GET", "Host", "host", "hos", "hosts", "h\u{4F}st", "h[st"] {
            let bytes = Array(text.utf8)
            #expect(bytes.span.equals("host") == (text == "host"), "\(text)")
            #expect(
                bytes.span.equalsIgnoringCase("host") == (text.lowercased() == "host"),
                "\(text)"
            )
            #expect(bytes.span.starts(with: "hos" as StaticString) == text.hasPrefix("hos"))
            #expect(bytes.span.starts(with: "hos" as String) == text.hasPrefix("hos"))
        }
    }
}
