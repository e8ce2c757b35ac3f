import Foundation

/// A unique path, in a folder that is removed at the end.
final class TemporaryFolder {
    let url = FileManager.default.temporaryDirectory
        .appendingPathComponent("webhooks-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String = "webhooks.sqlite") -> String {
        url.appendingPathComponent(name).path
    }
}
