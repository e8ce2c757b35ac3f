import PusherProtocol
import Testing

@Suite("Query parameters") struct QueryParametersTests {
    @Test func sortsByLowerCaseName() {
        let parameters = QueryParameters("b=2&A=1&c=3")
        #expect(parameters.names == ["a", "b", "c"])
        #expect(parameters["a"] == "1")
        #expect(parameters["missing"] == nil)
    }

    @Test(arguments: [
        ("", []), ("&", []), ("&&a=1&", ["a"]), ("a", ["a"]), ("=", [""]), ("a=b=c", ["a"]),
    ])
    func takesOddQueriesApart(query: String, names: [String]) {
        #expect(QueryParameters(query).names == names)
    }

    @Test(arguments: [
        ("a=b=c", "b=c"), ("a", ""), ("a=", ""), ("a=%20", " "), ("a=%2B", "+"), ("a=b+c", "b+c"),
        ("a=%zz", "%zz"), ("a=%4", "%4"), ("a=%", "%"), ("a=%41", "A"), ("a=%c5%BB", "Ż"),
        ("a=%2541", "%41"), ("%61=x", "x"), ("a=1&a=2", "1"), ("a=,=#:", ",=#:"),
    ])
    func decodes(query: String, value: String) {
        #expect(QueryParameters(query)["a"] == value)
    }

    @Test func keepsTheOrderOfArrays() {
        #expect(QueryParameters("c[]=b&x=1&c[]=a").values(of: "c") == ["b", "a"])
        #expect(QueryParameters("c%5B1%5D=b&c%5B0%5D=a").values(of: "c") == ["b", "a"])
        let many = (0..<12).map { "c[\($0)]=\($0)" }.joined(separator: "&")
        #expect(QueryParameters(many).values(of: "c") == (0..<12).map(String.init))
        #expect(QueryParameters("cc=1").values(of: "c").isEmpty)
    }
}
