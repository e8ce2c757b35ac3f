import Broker
import BrokerConfiguration
import CommandSupport
import Foundation
import TestProgram
import Testing

@testable import fanfare

@Suite("fanfare keys app") struct KeysAppTests {
    @Test func theYAMLIsAConfiguration() async throws {
        let directory = try TemporaryDirectory()
        let result = try await Program.run(["keys", "app"])
        #expect(result.code == 0)
        let file = directory.path("fanfare.yaml")
        try ("listen: {host: 0.0.0.0}\n" + result.output)
            .write(toFile: file, atomically: true, encoding: .utf8)
        let app = try #require(try Configuration.load(file: file).apps.first)
        #expect(app.id.count == 7 && app.id.allSatisfy(\.isNumber))
        let hexadecimal = Set("0123456789abcdef")
        #expect(app.key.count == 20 && app.key.allSatisfy(hexadecimal.contains))
        #expect(app.secret.count == 40 && app.secret.allSatisfy(hexadecimal.contains))
    }

    @Test func theJSONIsOneLine() async throws {
        let result = try await Program.run(["keys", "app", "--json"])
        let object = try JSONDecoder().decode([String: String].self, from: Data(result.output.utf8))
        #expect(Set(object.keys) == ["id", "key", "secret"])
        #expect(result.output.filter { $0 == "\n" }.count == 1)
    }

    @Test("A further secret goes into the app that keys app has made", arguments: [false, true])
    func aFurtherSecret(hasKey: Bool) async throws {
        let directory = try TemporaryDirectory()
        let app = try await Program.run(["keys", "app"])
        let result = try await Program.run(["keys", "secret"] + (hasKey ? ["--key"] : []))
        #expect(result.code == 0)
        let file = directory.path("fanfare.yaml")
        try (app.output + result.output).write(toFile: file, atomically: true, encoding: .utf8)
        let credentials = try Configuration.load(file: file).apps[0].credentials
        #expect(credentials.count == 1)
        #expect(credentials[0].secret.count == 40)
        #expect(credentials[0].key?.count == (hasKey ? 20 : nil))
    }

    @Test func allAreDifferent() {
        var randomness = SystemRandomNumberGenerator()
        let apps = (0..<100).map { _ in AppCredentials(using: &randomness) }
        #expect(Set(apps.map(\.key)).count == 100)
        #expect(Set(apps.map(\.secret)).count == 100)
    }
}

@Suite("Files that commands create") struct NewFileTests {
    @Test func aKeyIsReadableOnlyByItsOwner() throws {
        let directory = try TemporaryDirectory()
        let file = NewFile(path: directory.path("key.pem"), mode: 0o600)
        try file.write(Array("secret".utf8), overwrites: false)
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "secret")
    }

    @Test func existingFilesAreKept() throws {
        let directory = try TemporaryDirectory()
        let file = NewFile(path: directory.path("key.pem"), mode: 0o600)
        try file.write([1], overwrites: false)
        let error = #expect(throws: CommandError.self) { try file.write([2], overwrites: false) }
        #expect(
            error?.description
                == "\(file.path) already exists; choose another name, or add --force"
        )
        #expect(try Data(contentsOf: URL(filePath: file.path)) == Data([1]))
        try file.write([2], overwrites: true)
        #expect(try Data(contentsOf: URL(filePath: file.path)) == Data([2]))
    }

    @Test func overwritingReplacesThePermissions() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("key.pem")
        try NewFile(path: path, mode: 0o644).write([1], overwrites: false)
        try NewFile(path: path, mode: 0o600).write([2], overwrites: true)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func aMissingDirectory() {
        let error = #expect(throws: CommandError.self) {
            try NewFile(path: "/nonexistent/key.pem", mode: 0o600).write([1], overwrites: false)
        }
        #expect(
            error?.description
                == "/nonexistent/key.pem cannot be created: No such file or directory"
        )
    }
}
