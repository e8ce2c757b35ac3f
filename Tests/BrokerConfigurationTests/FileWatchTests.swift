import Foundation
import TestFiles
import Testing

@testable import BrokerConfiguration

@Suite("Watching a file", .timeLimit(.minutes(1))) struct FileWatchTests {
    private static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    /// Changes a watched file in one way, then rewrites it; each change is reported once.
    private func sees(_ change: (String) throws -> Void) async throws {
        let file = try TemporaryFile("one")
        var watch = FileWatch(file.path, interval: .milliseconds(10))
        try change(file.path)
        try await watch.change()
        try Self.write("a second change", to: file.path)
        try await watch.change()
    }

    @Test func aFileIsRewritten() async throws {
        try await sees { try Self.write("another", to: $0) }
    }

    @Test func aFileIsRewrittenInTheSameLength() async throws {
        try await sees { try Self.write("two", to: $0) }
    }

    @Test func anotherFileTakesItsPlace() async throws {
        try await sees { path in
            try Self.write("two", to: path + ".new")
            #expect(rename(path + ".new", path) == 0)
        }
    }

    @Test func aFileIsRemovedAndWrittenAnew() async throws {
        try await sees { path in
            #expect(unlink(path) == 0)
            try Self.write("one", to: path)
        }
    }

    @Test func aLinkPointsElsewhere() async throws {
        let (first, second) = (try TemporaryFile("one"), try TemporaryFile("one"))
        let link = first.path + ".link"
        #expect(symlink(first.path, link) == 0)
        defer { unlink(link) }
        var watch = FileWatch(link, interval: .milliseconds(10))
        #expect(unlink(link) == 0)
        #expect(symlink(second.path, link) == 0)
        try await watch.change()
    }

    @Test func filesThatBelongTogetherChangeTogether() async throws {
        let (certificate, key) = (try TemporaryFile("one"), try TemporaryFile("one"))
        var watch = FileWatch([certificate.path, key.path], interval: .milliseconds(10))
        try Self.write("two", to: key.path)
        try await watch.change()
        // No change is reported while one of the two files is missing.
        #expect(unlink(certificate.path) == 0)
        try Self.write("three", to: key.path)
        let path = certificate.path
        let writing = Task {
            try await Task.sleep(for: .milliseconds(60))
            try Self.write("two", to: path)
        }
        try await watch.change()
        #expect(access(path, F_OK) == 0)
        try await writing.value
    }

    @Test("Neither an unchanged file nor a missing one is reported")
    func nothingHappens() async throws {
        let file = try TemporaryFile("one")
        let path = file.path
        let watching = Task {
            var watch = FileWatch(path, interval: .milliseconds(1))
            try await watch.change()
        }
        // Many polls later it is still waiting.
        try await Task.sleep(for: .milliseconds(50))
        #expect(unlink(path) == 0)
        try await Task.sleep(for: .milliseconds(50))
        watching.cancel()
        await #expect(throws: CancellationError.self) { try await watching.value }
    }
}
