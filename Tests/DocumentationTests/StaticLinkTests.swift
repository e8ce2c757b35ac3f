import Foundation
import Testing

/// The programs are linked statically.
///
/// FoundationNetworking depends on libcurl, with which the link fails or the program is much larger: no source that is
/// compiled for a release on Linux may import it.
@Suite("The programs' libraries") struct StaticLinkTests {
    /// A target of `Package.swift`.
    private struct Target {
        var name: String
        var path: String
        var dependencies: [String]
    }

    private static func targets() throws -> [String: Target] {
        let package = try String(
            contentsOf: ProgramsTests.root.appending(path: "Package.swift"),
            encoding: .utf8
        )
        var targets: [String: Target] = [:]
        let starts = #/\n        (?:module|program|tests)\(/#
        for text in package.split(separator: starts).dropFirst() {
            guard let name = text.firstMatch(of: #/"([^"]+)"/#)?.1 else { continue }
            let path = text.firstMatch(of: #/at: "([^"]+)"/#)?.1 ?? "Sources/\(name)"
            // The names of folders follow the dependencies, with a label.
            let list = text.firstMatch(of: #/"[^"]+",\s+\[([^\]]*)\]/#)?.1 ?? ""
            targets[String(name)] = Target(
                name: String(name),
                path: String(path),
                dependencies: list.matches(of: #/"([^"]+)"/#).map { String($0.1) }
            )
        }
        return targets
    }

    /// Returns a program's target and all targets of this package that are linked into it.
    private static func linked(into program: String) throws -> [Target] {
        let targets = try targets()
        var found: [String: Target] = [:]
        var names = [program]
        while let name = names.popLast() {
            guard found[name] == nil, let target = targets[name] else { continue }
            found[name] = target
            names += target.dependencies
        }
        return found.values.sorted { $0.name < $1.name }
    }

    @Test(arguments: ["fanfare", "fanfare-demos", "demo-terminal", "websocket-echo-server"])
    func needNoFoundationNetworking(program: String) throws {
        let targets = try Self.linked(into: program)
        #expect(targets.contains { $0.name == "Net" }, "\(program): dependencies are incomplete")
        for target in targets {
            let folder = ProgramsTests.root.appending(path: target.path)
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            for file in files where file.hasSuffix(".swift") {
                let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
                #expect(
                    !Self.importsForRelease(text),
                    "\(target.path)/\(file) is linked into \(program)"
                )
            }
        }
    }

    @Test(arguments: [
        ("import FoundationNetworking\n", true),
        (
            "#if canImport(FoundationNetworking)\n    package import FoundationNetworking\n#endif\n",
            true
        ),
        ("#if DEBUG\n#else\nimport FoundationNetworking\n#endif\n", true),
        ("#if os(Linux)\n#endif\n@_exported public import FoundationNetworking\n", true),
        ("#if DEBUG\nimport FoundationNetworking\n#endif\n", false),
        (
            "#if canImport(Darwin) || DEBUG\n    #if canImport(FoundationNetworking)\n"
                + "        import FoundationNetworking\n    #endif\n#endif\n", false
        ),
        ("// import FoundationNetworking\nimport Foundation\n", false),
    ])
    func areReadWithTheirConditions(text: String, imports: Bool) {
        #expect(Self.importsForRelease(text) == imports)
    }

    /// Whether a source imports FoundationNetworking in a release build on Linux.
    private static func importsForRelease(_ text: String) -> Bool {
        let elsewhere = ["DEBUG", "canImport(Darwin)", "canImport(Darwin) || DEBUG"]
        var conditions: [Bool] = []
        for line in text.split(separator: "\n") {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.hasPrefix("#if ") {
                conditions.append(elsewhere.contains(String(line.dropFirst(4))))
            } else if line.hasPrefix("#else") {
                conditions[conditions.count - 1] = false
            } else if line == "#endif" {
                conditions.removeLast()
            } else if line.hasSuffix("import FoundationNetworking"), !line.hasPrefix("//"),
                !conditions.contains(true)
            {
                return true
            }
        }
        return false
    }
}
