import Contacts
import DemoSite
import HTTP1
import TestSite
import Testing

@Suite("Routes of the contacts") struct ContactRoutesTests {
    private let site: SiteProbe
    private let id = "11111111-2222-4333-8444-555555555555"
    private let ada = "00000000-0000-4000-8000-000000000101"

    init() async throws { site = try await SiteProbe(Contacts.demo) }

    private func post(_ route: String, _ body: String) async throws -> SiteProbe.Answer {
        try await site.answer(.post, "/contacts/\(route)", body, type: "application/json")
    }

    @Test func thePageIsBelowItsPath() async throws {
        for file in Contacts.demo.files {
            let name = file.name == "index.html" ? "" : file.name
            #expect(try await site.answer(.get, "/contacts/\(name)").status == 200)
        }
    }

    @Test func snapshotsHaveARevisionAndAModel() async throws {
        let people = try await site.answer(.get, "/contacts/people").body
        #expect(people.hasPrefix(#"{"model":[{"email":"ada@example.org","id":"00000000-"#))
        #expect(people.hasSuffix(#"],"revision":1}"#))
        let person = try await site.answer(.get, "/contacts/person?id=\(ada)").body
        #expect(person.contains(#""note":"Wrote the first program"#))
        let missing = try await site.answer(.get, "/contacts/person?id=\(id)")
        #expect(missing.status == 200)
        #expect(missing.body == #"{"model":null,"revision":1}"#)
    }

    @Test func eachChangePublishesBothModelsInOrder() async throws {
        #expect(
            try await post("add", #"{"id":"\#(id)","name":" Hedy "}"#).body == #"{"revision":2}"#
        )
        let change = #"{"id":"\#(id.uppercased())","phone":"123"}"#
        #expect(try await post("change", change).body == #"{"revision":3}"#)
        #expect(try await post("remove", #"{"id":"\#(id)"}"#).body == #"{"revision":4}"#)
        let events = await site.events()
        #expect(events.allSatisfy { $0.name == "snapshot" })
        let channels = ["contacts", "contacts-\(id)"]
        #expect(events.map(\.channel) == channels + channels + channels)
        let person = #""email":"","id":"\#(id)","name":"Hedy","note":"","phone":"#
        #expect(events[1].data == #"{"model":{\#(person)""},"revision":2}"#)
        #expect(events[3].data == #"{"model":{\#(person)"123"},"revision":3}"#)
        #expect(events[5].data == #"{"model":null,"revision":4}"#)
        #expect(events[4].data == (try await site.answer(.get, "/contacts/people").body))
    }

    @Test func aModelThatIsTooLargeForAnEventIsOmitted() async throws {
        let name = String(repeating: "é", count: 100)
        for number in 100..<160 {
            let id = "11111111-2222-4333-8444-555555555\(number)"
            #expect(try await post("add", #"{"id":"\#(id)","name":"\#(name)"}"#).status == 200)
        }
        let events = await site.events()
        #expect(events.allSatisfy { $0.data.utf8.count <= 8_000 })
        #expect(events[118].data == #"{"revision":61}"#)
        #expect(events[119].data.contains(name))
    }

    @Test func aRepeatedRequestIsAppliedAndPublishedOnce() async throws {
        for _ in 1...2 {
            let added = try await post("add", #"{"id":"\#(id)","name":"Hedy"}"#)
            #expect(added.body == #"{"revision":2}"#)
        }
        for _ in 1...2 {
            #expect(try await post("remove", #"{"id":"\#(id)"}"#).body == #"{"revision":3}"#)
        }
        #expect(await site.events().count == 4)
    }

    @Test(arguments: [
        ("add", #"{"name":"A"}"#, 400, "id: No value"),
        ("add", #"{"id":"7","name":"A"}"#, 400, "The field id must be a UUID, not 7."),
        ("add", #"{"id":"ID"}"#, 422, #""error":"A contact needs a name.","field":"name""#),
        ("add", #"{"id":"ID","name":"A","email":"a"}"#, 422, #""field":"email""#),
        ("change", #"{"id":"ID","name":"A"}"#, 404, "This contact no longer exists."),
        ("change", #"{"id":"ID","name":7}"#, 400, "name: Expected to decode String"),
        ("change", "name=A", 400, "The body has the wrong structure"),
        ("remove", #"{"id":null}"#, 400, "The body has the wrong structure"),
    ])
    func refusalsSayWhy(
        route: String,
        body: String,
        status: Int,
        sentence: String
    ) async throws {
        let reply = try await post(route, body.replacing("ID", with: id))
        #expect(reply.status == status)
        #expect(reply.body.contains(sentence), "\(reply.body)")
        #expect(await site.events().isEmpty)
    }

    @Test(arguments: [
        ("person", "The field id is missing."),
        ("person?id=a/b", "The field id must be a UUID, not a/b."),
    ])
    func aPersonIsAskedForByID(target: String, sentence: String) async throws {
        let reply = try await site.answer(.get, "/contacts/\(target)")
        #expect(reply.status == 400)
        #expect(reply.body == #"{"error":"\#(sentence)"}"#)
    }
}
