import HTTP1
import Testing

@Suite("Queries, RFC 3986 §3.4") struct QueryTests {
    @Test func splitsNamesAndValues() {
        let query = Query("a=1&b&&c=x=y&a=%32&d%5B%5D=%zz&=e&")
        #expect(query.items.map(\.rawName) == ["a", "b", "c", "a", "d%5B%5D", ""])
        #expect(query.items.map(\.rawValue) == ["1", "", "x=y", "%32", "%zz", "e"])
        #expect(query["a"] == "1")
        #expect(query.all("a") == ["1", "2"])
        #expect(query["b"] == "")
        #expect(query["c"] == "x=y")
        #expect(query["d[]"] == nil)
        #expect(query["nowhere"] == nil)
        #expect(Query("").items.isEmpty)
    }
}

@Suite("Forms, WHATWG URL §5") struct FormURLEncodedTests {
    @Test func decodes() throws {
        let bytes = Array("name=Ada+L&e=%C3%A9&&x&y=1=2&=z".utf8)
        let decoded = FormURLEncoded(decoding: bytes.span)
        let form = try #require(decoded)
        #expect(
            form.pairs == [
                Field("name", "Ada L"), Field("e", "é"), Field("x", ""), Field("y", "1=2"),
                Field("", "z"),
            ]
        )
        #expect(form["name"] == "Ada L")
        #expect(form["nowhere"] == nil)
        #expect(form.all("x") == [""])
    }

    @Test(arguments: ["a=%", "a=%F", "%zz=1", "a=%FF"])
    func refuses(text: String) {
        #expect(FormURLEncoded(decoding: Array(text.utf8).span) == nil)
    }

    @Test func limitsPairs() {
        let bytes = Array("a&b&c".utf8)
        #expect(FormURLEncoded(decoding: bytes.span, pairCountMax: 3)?.pairs.count == 3)
        #expect(FormURLEncoded(decoding: bytes.span, pairCountMax: 2) == nil)
    }

    @Test func roundTrips() {
        let form = FormURLEncoded([Field("a b", "1&2=3"), Field("é", "+%"), Field("", "x")])
        #expect(String(decoding: form.encode(), as: UTF8.self) == "a+b=1%262%3D3&%C3%A9=%2B%25&=x")
        #expect(FormURLEncoded(decoding: form.encode().span) == form)
    }
}
