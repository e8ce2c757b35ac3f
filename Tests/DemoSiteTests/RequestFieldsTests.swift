import Testing

@testable import DemoSite

@Suite("Fields of a request") struct RequestFieldsTests {
    private func fields(_ body: String, _ type: String?) throws -> RequestFields {
        try RequestFields(Array(body.utf8), contentType: type)
    }

    @Test(arguments: [
        (#"{"name": "Ada L.", "id": 7}"#, "application/json"),
        (#"{"name": " Ada L. ", "id": "7"}"#, "application/json; charset=utf-8"),
        ("name=Ada+L.&id=7", "application/x-www-form-urlencoded"),
        ("id=7&name=%41da%20L.", "Application/X-WWW-Form-URLEncoded;charset=UTF-8"),
        ("name=Ada+L.&id=7", nil),
    ])
    func readsEitherForm(body: String, type: String?) throws {
        let fields = try fields(body, type)
        #expect(try fields.text("name", limit: 10) == "Ada L.")
        #expect(try fields.integer("id") as Int64 == 7)
    }

    @Test func readsTextThatWasCutInsideAnEmoji() throws {
        let fields = try fields(#"{"name":"Ada \ud83d","id":7}"#, "application/json")
        #expect(try fields.text("name", limit: 10) == "Ada \u{FFFD}")
    }

    @Test(arguments: ["", "[]", "{", #"{"id": 1.5}"#, #"{"id": null}"#, #"{"a": {}}"#])
    func refusesOtherJSON(body: String) {
        #expect(throws: RequestError.notJSON) { try self.fields(body, "application/json") }
    }

    @Test(arguments: ["name=%4", "name=%zz", "name=%ff"])
    func refusesOtherForms(body: String) {
        #expect(throws: RequestError.notAForm) { try self.fields(body, nil) }
    }

    @Test func refusesOtherTypes() {
        #expect(throws: RequestError.unsupportedContentType("text/plain")) {
            try fields("name=Ada", "text/plain")
        }
    }

    @Test func reportsTheInvalidField() throws {
        let fields = try fields("name=++&id=1e3&long=abcdef", nil)
        #expect(throws: RequestError.missing(field: "deviceId")) {
            try fields.text("deviceId", limit: 1)
        }
        #expect(throws: RequestError.empty(field: "name")) { try fields.text("name", limit: 9) }
        #expect(throws: RequestError.tooLong(field: "long", limit: 5)) {
            try fields.text("long", limit: 5)
        }
        #expect(throws: RequestError.notAnInteger(field: "id")) {
            try fields.integer("id") as Int
        }
        #expect(throws: RequestError.missing(field: "src")) { try fields.integer("src") as Int }
    }
}
