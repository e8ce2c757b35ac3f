import Foundation
import Testing

/// Checks that one more key, limit, route, metric, transport or authority is one row beside its use, its tests and what is generated.
@Suite("The tables of docs/internals/adding.md") struct AddingTests {
    /// A line of a table: what a place is, and the files that it names.
    private struct Place {
        let kind: String
        let files: [String]
    }

    private static func tables() throws -> [[Place]] {
        try ProgramsTests.text(of: "docs/internals/adding.md")
            .components(separatedBy: "| | File | What |\n|---|---|---|\n").dropFirst()
            .map { text in
                text.split(separator: "\n", omittingEmptySubsequences: false)
                    .prefix { $0.hasPrefix("|") }
                    .map { line in
                        let cells = line.split(separator: "|")
                            .map { $0.trimmingCharacters(in: .whitespaces) }
                        let names = cells[1].matches(of: /`([^`]+)`/).map { String($0.1) }
                        return Place(kind: cells[0], files: paths(names))
                    }
            }
    }

    /// The paths of files, of which those behind the first may have its folder left out; without those with an ellipsis.
    private static func paths(_ names: [String]) -> [String] {
        guard let first = names.first, let slash = first.lastIndex(of: "/") else { return names }
        return names.filter { !$0.contains("…") }
            .map { $0.contains("/") || $0 == first ? $0 : String(first[...slash]) + $0 }
    }

    @Test("Each has one row; all else is its use, a test or generated")
    func rows() throws {
        let tables = try Self.tables()
        #expect(tables.count == 7)
        for places in tables {
            #expect(places.count { $0.kind == "row" } == 1)
            for place in places {
                #expect(["row", "use", "test", "generated"].contains(place.kind), "\(place)")
            }
        }
    }

    @Test func theFilesExist() throws {
        for file in try Self.tables().joined().flatMap(\.files) {
            #expect(throws: Never.self, "\(file)") { try ProgramsTests.text(of: file) }
        }
    }
}
