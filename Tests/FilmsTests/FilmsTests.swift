import Foundation
import HTTP1
import TestSite
import Testing

@testable import DemoSite
@testable import Films
import LiveRows

@Suite("Films") struct FilmsTests {
    private let site: SiteProbe

    init() async throws { site = try await SiteProbe(Films.demo) }

    private func films() async throws -> [Film] {
        let body = try await site.answer(.get, "/films/rows").body
        return try JSONDecoder().decode(ListSnapshot<Film>.self, from: Data(body.utf8)).rows
    }

    private func commit(_ operations: [ListOperation<Film>]) async throws -> SiteProbe.Answer {
        let body = #"{"operations":\#(try JSONText.encode(operations))}"#
        return try await site.answer(.post, "/films/rows/operations", body)
    }

    private func films(from first: Int64, count: Int64) -> [Film] {
        (first..<first + count).map { Film(id: $0, title: "Film \($0)", year: 2000) }
    }

    @Test func thePageIsBelowItsPath() async throws {
        for name in ["", "films.js", "films.css", "catalogue.js"] {
            #expect(try await site.answer(.get, "/films/\(name)").status == 200)
        }
    }

    @Test func threeAppendedAndThreeDroppedAreOneCommit() async throws {
        let new = films(from: 11, count: 3)
        let reply = try await commit([
            .put(new[0], after: 6), .put(new[1], after: 11), .put(new[2], after: 12),
            .remove(1), .remove(2), .remove(3),
        ])
        #expect(reply.body == #"{"revision":1}"#)
        #expect(try await films().map(\.id) == [4, 5, 6, 11, 12, 13])
        #expect(await site.events().map(\.name) == ["list_changed"])
    }

    @Test func aResetIsOneCommit() async throws {
        // A full list with titles of maximum length.
        let long = String(repeating: "é", count: 100)
        let new = (11...60).map {
            ListOperation.put(Film(id: $0, title: long, year: 2000), after: 6)
        }
        for start in stride(from: 0, to: 50, by: 25) {
            #expect(try await commit(Array(new[start..<start + 25])).status == 200)
        }
        _ = try await commit([.remove(2), .update(Film(id: 4, title: "Changed", year: 1900))])
        #expect(try await site.answer(.post, "/films/reset").body == #"{"revision":4}"#)
        #expect(try await films() == Film.original)
        #expect(await site.events().count == 4)
    }

    @Test(arguments: [
        (Film(id: 9, title: " ", year: 2000), "The field title must not be empty."),
        (
            Film(id: 9, title: String(repeating: "a", count: 101), year: 2000),
            "The field title must not have more than 100 characters."
        ),
        (
            Film(id: 9, title: "A", year: 1700),
            "The field year must be from 1888 to 2100, not 1700."
        ),
    ])
    func refusalsSayWhy(film: Film, sentence: String) async throws {
        let reply = try await commit([.put(film, after: nil)])
        #expect(reply.status == 400)
        #expect(reply.body == #"{"error":"\#(sentence)"}"#)
    }

    @Test func theListHasALimit() async throws {
        for start in [11, 38] as [Int64] {
            let puts = films(from: start, count: 27).map { ListOperation.put($0, after: nil) }
            #expect(try await commit(puts).status == 200)
        }
        let reply = try await commit([.put(Film(id: 9, title: "A", year: 2000), after: nil)])
        #expect(reply.status == 409)
        #expect(reply.body == #"{"error":"The list is full: the limit is 60 rows."}"#)
    }
}
