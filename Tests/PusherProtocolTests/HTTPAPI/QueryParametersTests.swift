import Testing

@testable import PusherProtocol

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
    func parsesUnusualQueries(query: String, names: [String]) {
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

    @Test("The signature is not signed itself, and the first of several applies")
    func separatesTheSignature() {
        #expect(QueryParameters("b=1&auth_signature=x&a=2").names == ["a", "b"])
        let twice = QueryParameters("Auth_Signature=x&auth_signature=y")
        #expect(twice.names.isEmpty)
        #expect(twice.signature.map { text(Array(twice.text[$0])) } == "x")
        #expect(QueryParameters("auth_signature[]=x").signature == nil)
    }

    @Test func lowercasesTheNamesOnly() {
        let parameters = QueryParameters("Filter_By_PREFIX=Aa&INFO=Bb&%41b=Cc")
        #expect(parameters.names == ["ab", "filter_by_prefix", "info"])
        #expect(parameters["filter_by_prefix"] == "Aa")
        #expect(parameters["ab"] == "Cc")
    }

    @Test func keepsTheOrderOfArrays() {
        #expect(QueryParameters("c[]=b&x=1&c[]=a").values(of: "c") == ["b", "a"])
        #expect(QueryParameters("c%5B1%5D=b&c%5B0%5D=a").values(of: "c") == ["b", "a"])
        let many = (0..<12).map { "c[\($0)]=\($0)" }.joined(separator: "&")
        #expect(QueryParameters(many).values(of: "c") == (0..<12).map(String.init))
        #expect(QueryParameters("cc=1").values(of: "c").isEmpty)
    }
}
