import Foundation
import Testing

/// The articles' links to symbols, and what they say of the calls of `FanfareClient`.
@Suite("Symbols in the articles", .timeLimit(.minutes(5))) struct SymbolLinkTests {
    private static let modules = [
        "FanfareAPI", "FanfareClient", "FanfareEncryption", "FanfareOutbox", "FanfareStorage",
        "FanfareTesting", "FanfareUI",
        "LiveCollections", "LiveQueries", "LiveRows", "LiveTables", "PusherSwift",
    ]

    @Test("Each link is to a public symbol", arguments: modules) func resolve(module: String) throws
    {
        let symbols = try InterfaceTests.symbols(of: module)
        let paths = Set(symbols.map(\.path)).union([module])
        for file in try Self.articles(of: module) {
            let unknown = Self.links(in: try ProgramsTests.text(of: file)).filter { link in
                let isQualified = link.hasPrefix("\(module)/")
                return !paths.contains(
                    isQualified ? String(link.dropFirst(module.count + 1)) : link
                )
            }
            #expect(unknown == [], "\(file)")
        }
    }

    /// The rows of the table in LostConnections.md: the links of the first cell, and the second cell.
    private static func rows() throws -> [(calls: [String], text: String)] {
        let file = "Sources/FanfareClient/FanfareClient.docc/LostConnections.md"
        let lines = try ProgramsTests.text(of: file).split(separator: "\n")
        return lines.drop { !$0.hasPrefix("| Call |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
            .map { line in
                let cells = line.split(separator: "|")
                return (links(in: String(cells[0])), String(cells[1]))
            }
    }

    @Test(
        "What lasts longer than a connection is in the table of lost connections, in two sentences at most"
    )
    func tellsOfCuts() throws {
        let rows = try Self.rows()
        let calls = rows.flatMap(\.calls)
        for row in rows {
            #expect((1...2).contains(row.text.matches(of: /\.(?= |$)/).count), "\(row.text)")
        }
        // What returns a token, a sequence, a lease or a pending event, and what waits.
        let lasting =
            /-> (?:ListenerToken|ChannelSubscription|PendingEvent)|(?:->|:) (?:Updates|Deliveries)<|async throws/
        let types = [
            "Channel", "ChannelSubscription", "Fanfare", "PendingEvent", "PresenceChannel", "User",
        ]
        let missing = try InterfaceTests.symbols(of: "FanfareClient")
            .filter { symbol in
                types.contains(symbol.pathComponents[0]) && symbol.declaration.contains(lasting)
            }
            .map(\.path).filter { !calls.contains($0) }
        #expect(missing.sorted() == [])
    }

    private static func articles(of module: String) throws -> [String] {
        let folder = "Sources/\(module)/\(module).docc"
        guard
            FileManager.default.fileExists(atPath: ProgramsTests.root.appending(path: folder).path)
        else { return [] }
        return try ProgramsTests.files(folder, ending: ".md")
    }

    /// The symbols that a page links to, without what distinguishes overloads.
    private static func links(in page: String) -> [String] {
        page.matches(of: /``([^`\n]+)``/).map { match in
            match.1.replacing(/-\(.*|-swift\.\w+/, with: "").description
        }
    }
}
