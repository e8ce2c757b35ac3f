import Testing
import TestRandom

@testable import Primitives

@Suite("UTF-8, RFC 3629 §4 and RFC 6455 §8.1") struct UTF8ValidatorTests {
    private enum Verdict: Equatable {
        case complete
        case incomplete
        case invalid(at: Int)
    }

    /// The grammar of RFC 3629 §4, transcribed.
    private static let rows: [[ClosedRange<UInt8>]] = [
        [0x00...0x7F],
        [0xC2...0xDF, 0x80...0xBF],
        [0xE0...0xE0, 0xA0...0xBF, 0x80...0xBF],
        [0xE1...0xEC, 0x80...0xBF, 0x80...0xBF],
        [0xED...0xED, 0x80...0x9F, 0x80...0xBF],
        [0xEE...0xEF, 0x80...0xBF, 0x80...0xBF],
        [0xF0...0xF0, 0x90...0xBF, 0x80...0xBF, 0x80...0xBF],
        [0xF1...0xF3, 0x80...0xBF, 0x80...0xBF, 0x80...0xBF],
        [0xF4...0xF4, 0x80...0x8F, 0x80...0xBF, 0x80...0xBF],
    ]

    private func twin(_ text: [UInt8]) -> Verdict {
        var start = 0
        while start < text.count {
            guard let row = Self.rows.first(where: { $0[0].contains(text[start]) }) else {
                return .invalid(at: start)
            }
            for (index, range) in row.enumerated() {
                guard start + index < text.count else { return .incomplete }
                guard range.contains(text[start + index]) else {
                    return .invalid(at: start + index)
                }
            }
            start += row.count
        }
        return .complete
    }

    private func verdict(_ text: [UInt8]) -> Verdict {
        var validator = UTF8Validator()
        for (index, byte) in text.enumerated() {
            let one = [byte]
            guard validator.accept(one.span) else { return .invalid(at: index) }
        }
        return validator.isComplete ? .complete : .incomplete
    }

    private func accepts(_ pieces: [UInt8]...) -> Bool {
        var validator = UTF8Validator()
        return pieces.allSatisfy { validator.accept($0.span) } && validator.isComplete
    }

    @Test func allSequencesOfTwoBytesEqualTheirTwin() {
        for first in 0...255 {
            for second in 0...255 {
                let text = [UInt8(first), UInt8(second)]
                guard verdict(text) != twin(text) else { continue }
                #expect(verdict(text) == twin(text), "\(text)")
            }
        }
    }

    @Test func allBoundariesOfLongerSequencesEqualTheirTwin() {
        let edges: [UInt8] = [
            0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xFF,
        ]
        for first in 0xC0...0xFF {
            for second in 0x00...0xFF {
                for third in edges {
                    for fourth in edges {
                        let text = [UInt8(first), UInt8(second), third, fourth]
                        guard verdict(text) != twin(text) else { continue }
                        #expect(verdict(text) == twin(text), "\(text)")
                    }
                }
            }
        }
    }

    @Test func randomTextsInRandomPiecesEqualTheirTwin() {
        var random = SeededRandom(seed: 4)
        let scalars = Array(
            "aZ09 \u{7F}é\u{7FF}\u{800}€\u{D7FF}\u{E000}\u{FFFF}\u{10000}𝄞\u{10FFFF}"
        )
        for _ in 0..<3000 {
            let length = Int.random(in: 0...40, using: &random)
            let characters = (0..<length).map { _ in scalars.randomElement(using: &random) ?? "a" }
            var text = Array(String(characters).utf8)
            if Bool.random(using: &random), !text.isEmpty {
                text[Int.random(in: 0..<text.count, using: &random)] = UInt8.random(
                    in: 0...255,
                    using: &random
                )
            }
            let cut = Int.random(in: 0...text.count, using: &random)
            let expected = twin(text)
            #expect(verdict(text) == expected, "\(text)")
            #expect(accepts(text) == (expected == .complete), "\(text)")
            #expect(
                accepts(Array(text[..<cut]), Array(text[cut...])) == (expected == .complete),
                "\(text) cut at \(cut)"
            )
        }
    }

    @Test func anInvalidByteIsFoundAtEveryIndexAmongASCII() {
        for length in 1...40 {
            for place in 0..<length {
                var text = [UInt8](repeating: 0x61, count: length)
                text[place] = 0x80
                #expect(!accepts(text), "byte \(place) of \(length)")
                #expect(accepts(text[..<place] + []), "before byte \(place)")
            }
        }
    }

    @Test(
        "A text is refused at the first byte that makes it invalid",
        arguments: [
            ([0x80], 0), ([0xC0], 0), ([0xC1, 0xBF], 0), ([0xF5], 0), ([0xFE], 0), ([0xFF], 0),
            ([0xE0, 0x9F, 0xBF], 1), ([0xED, 0xA0, 0x80], 1), ([0xF0, 0x8F, 0xBF, 0xBF], 1),
            ([0xF4, 0x90, 0x80, 0x80], 1), ([0xC3, 0x28], 1), ([0xE2, 0x82, 0x28], 2),
            ([0xF0, 0x9F, 0x98, 0x41], 3),
            (Array("\u{3BA}\u{1F79}\u{3C3}\u{3BC}\u{3B5}".utf8) + [0xED, 0xA0, 0x80, 0x65], 12),
        ] as [([UInt8], Int)]
    )
    func refuses(_ text: [UInt8], place: Int) {
        #expect(verdict(text) == .invalid(at: place))
    }
}
