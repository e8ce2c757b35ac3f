import RESP
import Testing

@Suite("Views of received values") struct RESPViewTests {
    @Test func elementsOfAFlatList() throws {
        try withView(">3\r\n$7\r\nmessage\r\n+m:a:b\r\n:-12\r\n") { view in
            #expect(view.kind == .push && view.count == 3)
            #expect(view[0].equals("message") == true)
            for other: StaticString in ["messag", "messages", ""] {
                #expect(view[0].equals(other) == false)
            }
            #expect(view[1].text == "m:a:b")
            #expect(view[2].integer == -12 && view[2].double == -12)
            #expect(view[1].copy() == Array("m:a:b".utf8))
        }
    }

    @Test func elementsOfANestedList() throws {
        try withView("*4\r\n*2\r\n:1\r\n*0\r\n+a\r\n%1\r\n+k\r\n*1\r\n:2\r\n:3\r\n") { view in
            #expect(view[0].count == 2)
            #expect(view[0][0].integer == 1)
            #expect(view[0][1].kind == .array && view[0][1].count == 0)
            #expect(view[1].text == "a")
            #expect(view[2][1][0].integer == 2)
            #expect(view[3].integer == 3)
            var kinds: [RESPKind] = []
            view.forEach { kinds.append($0.kind) }
            #expect(kinds == [.array, .simpleString, .map, .integer])
        }
    }

    @Test func valuesOfAMap() throws {
        try withView("%3\r\n+a\r\n*1\r\n+b\r\n$1\r\nb\r\n#t\r\n+b\r\n#f\r\n") { view in
            #expect(view.count == 6)
            #expect(view["a"][0].text == "b")
            #expect(view["b"].boolean == true)
            #expect(view["c"].kind == .null && view["c"].text == "")
        }
    }

    @Test func whatDoesNotExistIsNull() throws {
        try withView("*2\r\n:1\r\n*0\r\n") { view in
            for position in [-1, 2, Int.max] { #expect(view[position].kind == .null) }
            #expect(view[1][0].kind == .null)
            #expect(view[0][0][5].isNull == true)
            #expect(view["a"].kind == .null)
            #expect(view.text == "" && view.equals("") == false)
            #expect(view.integer == nil && view.boolean == nil && view.double == nil)
        }
    }

    @Test("The size is that of all strings and numbers")
    func size() throws {
        let long = String(repeating: "x", count: 70)
        let text = "*2\r\n*2\r\n$3\r\nabc\r\n:12\r\n*1\r\n$70\r\n\(long)\r\n"
        try withView(text) { view in
            #expect(view[0][0].byteCount == 3)
            #expect(view[0].byteCount == 5)
            #expect(view[1].byteCount == 70)
            #expect(view.byteCount == 75)
            #expect(view[5].byteCount == 0)
        }
        try withView("*0\r\n") { #expect($0.byteCount == 0) }
    }

    @Test func numbersInStrings() throws {
        try withView("*6\r\n$2\r\n42\r\n$3\r\n4.5\r\n$2\r\n4x\r\n,inf\r\n(7\r\n$1\r\nt\r\n") {
            view in
            #expect(view[0].integer == 42 && view[0].double == 42)
            #expect(view[1].integer == nil && view[1].double == 4.5)
            #expect(view[2].integer == nil && view[2].double == nil)
            #expect(view[3].double == .infinity && view[3].integer == nil)
            #expect(view[4].integer == nil && view[4].text == "7")
            #expect(view[5].boolean == nil)
        }
    }

    @Test(arguments: [("-ERR x\r\n", true), ("!3\r\nERR\r\n", true), ("+ERR\r\n", false)])
    func errors(text: String, isError: Bool) throws {
        try withView(text) { #expect($0.isError == isError) }
    }

    @Test func passesOnWhatTheBodyThrows() throws {
        struct Stop: Error {}
        try withView("*2\r\n:1\r\n:2\r\n") { view in
            var count = 0
            let result = Result { () throws(Stop) in
                try view.forEach { (_) throws(Stop) in
                    count += 1
                    throw Stop()
                }
            }
            #expect(count == 1)
            #expect(throws: Stop.self) { try result.get() }
        }
    }
}
