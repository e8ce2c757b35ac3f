import Foundation
import FuzzTargets
import ServerFuzzTargets
import Testing

/// The seeds of the fuzzer: inputs found by `make fuzz` that are worth keeping are added to them.
@Suite("Seeds of the fuzz targets") struct SeedTests {
    private static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Seeds")

    private static let targets = FuzzTarget.all + FuzzTarget.server

    private static func seeds(of target: FuzzTarget) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: folder.appending(path: target.name),
            includingPropertiesForKeys: nil,
            options: .skipsHiddenFiles
        )
    }

    private static func bytes(of seed: URL) throws -> [UInt8] {
        // Reading an empty file with Foundation leaks a buffer.
        let isEmpty = try seed.resourceValues(forKeys: [.fileSizeKey]).fileSize == 0
        return isEmpty ? [] : [UInt8](try Data(contentsOf: seed))
    }

    @Test("Each seed satisfies the properties of its target", arguments: targets.map(\.name))
    func everySeedHolds(name: String) throws {
        let target = try #require(Self.targets.first { $0.name == name })
        let seeds = try Self.seeds(of: target)
        #expect(!seeds.isEmpty)
        for seed in seeds {
            let input = try Self.bytes(of: seed)
            #expect(throws: Never.self, "\(seed.lastPathComponent)") { try target.run(input) }
        }
    }

    @Test("Every folder of seeds belongs to a target") func noSeedIsForgotten() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        let names = Self.targets.map(\.name)
        #expect(folders.filter { !$0.hasPrefix(".") }.sorted() == names.sorted())
    }

    @Test("The empty input satisfies them too", arguments: targets.map(\.name))
    func nothingHolds(name: String) throws {
        let target = try #require(Self.targets.first { $0.name == name })
        for length in 0..<4 {
            for byte: UInt8 in [0, 1, 0x30, 0xFF] {
                let input = [UInt8](repeating: byte, count: length)
                #expect(throws: Never.self, "\(input)") { try target.run(input) }
            }
        }
    }
}
