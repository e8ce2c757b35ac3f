// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target: warnings are errors.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// The condition for targets that need epoll and OpenSSL.
let onLinux = TargetDependencyCondition.when(platforms: [.linux])

let package = Package(
    name: "fanfare",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .executable(name: "fanfare", targets: ["fanfare"]),
        .library(name: "FanfareClient", targets: ["FanfareClient"]),
        .library(name: "FanfareEncryption", targets: ["FanfareEncryption"]),
        .library(name: "PusherSwift", targets: ["PusherSwift"]),
        .library(name: "FanfareAPI", targets: ["FanfareAPI"]),
        .library(name: "LiveRows", targets: ["LiveRows"]),
        .library(name: "LiveCollections", targets: ["LiveCollections"]),
        .library(name: "LiveQueries", targets: ["LiveQueries"]),
        .library(name: "LiveTables", targets: ["LiveTables"]),
        .library(name: "FanfareUI", targets: ["FanfareUI"]),
        .library(name: "FanfareStorage", targets: ["FanfareStorage"]),
        .library(name: "FanfareTesting", targets: ["FanfareTesting"]),
    ],
    // Up to the next minor version: the package is a library too, and others need a range; see ARCHITECTURE.md. The
    // tested versions, which go into the image, are in config/dependencies.txt.
    dependencies: [
        .package(
            url: "https://github.com/apple/swift-argument-parser",
            .upToNextMinor(from: "1.8.2")
        ),
        .package(url: "https://github.com/apple/swift-log", .upToNextMinor(from: "1.16.2")),
        .package(url: "https://github.com/apple/swift-metrics", .upToNextMinor(from: "2.13.0")),
        .package(url: "https://github.com/groue/GRDB.swift", .upToNextMinor(from: "7.10.0")),
        .package(
            url: "https://github.com/HdrHistogram/hdrhistogram-swift",
            .upToNextMinor(from: "0.2.0")
        ),
    ],
    targets: [
        // System libraries: a module map, and the few macros that Swift cannot import.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CSodium",
            pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]
        ),
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"])]
        ),
        // For the model of Redis alone. With `pkgConfig`, SwiftPM would warn in all builds that the library is missing.
        .systemLibrary(name: "CLua", path: "Tests/CLua"),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        // Modules without I/O: no socket, clock or random source.
        .target(name: "Primitives", swiftSettings: strict),
        .target(
            name: "Digests",
            dependencies: [.target(name: "COpenSSL", condition: onLinux)],
            swiftSettings: strict
        ),
        .target(
            name: "WebSocket",
            dependencies: ["CZlib", "Digests", "Primitives"],
            swiftSettings: strict
        ),
        .target(name: "HTTP1", dependencies: ["Primitives"], swiftSettings: strict),
        .target(name: "RESP", dependencies: ["Primitives"], swiftSettings: strict),
        .target(
            name: "PusherProtocol",
            dependencies: ["Digests", "Primitives"],
            swiftSettings: strict
        ),
        .target(
            name: "Broker",
            dependencies: ["PusherProtocol", "Primitives"],
            swiftSettings: strict
        ),

        // What the broker serves to web pages: scripts, contained in the program.
        .target(
            name: "BrowserClient",
            dependencies: ["CZlib"],
            resources: [.embedInCode("Modules"), .embedInCode("Console")],
            swiftSettings: strict
        ),

        // Modules with I/O.
        .target(name: "SQLite", dependencies: ["CSQLite"], swiftSettings: strict),
        .target(
            name: "Net",
            dependencies: ["CLinux", "COpenSSL", "Primitives"],
            swiftSettings: strict
        ),
        .target(name: "HTTPServer", dependencies: ["Net", "HTTP1"], swiftSettings: strict),
        .target(
            name: "Redis",
            dependencies: ["RESP", "Net", "Digests", "Primitives"],
            resources: [.embedInCode("Scripts/Lua")],
            swiftSettings: strict
        ),
        .target(
            name: "Webhooks",
            dependencies: [
                "Broker", "PusherProtocol", "Primitives", "HTTPClient", "Net", "SQLite", "CSQLite",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Archive",
            dependencies: [
                "Broker", "PusherProtocol", "Primitives", "SQLite", "CSQLite",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "ServerLog",
            dependencies: [
                "PusherProtocol", "Primitives", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "BrokerConfiguration",
            dependencies: [
                "Broker", "PusherProtocol", "HTTP1", "HTTPServer", "Net", "Primitives", "Redis",
                "ServerLog", "WebSocket", "Webhooks", "CYAML",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Shard",
            dependencies: [
                "Broker", "PusherProtocol", "HTTP1", "Net", "Primitives",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Cluster",
            dependencies: [
                "Shard", "Redis", "RESP", "BrokerConfiguration", "Broker", "PusherProtocol", "Net",
                "Primitives", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Gateway",
            dependencies: [
                "Shard", "Broker", "PusherProtocol", "HTTPServer", "HTTP1", "WebSocket", "Net",
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Observability",
            dependencies: [
                "Shard", "BrokerConfiguration", "Archive", "Webhooks", "Broker", "PusherProtocol",
                "HTTPServer", "HTTP1", "Net", "Digests", "Primitives",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "BrokerAPI",
            dependencies: [
                "Observability", "Shard", "Broker", "PusherProtocol", "BrowserClient",
                "HTTPServer", "HTTP1", "Net", "Digests", "Primitives",
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Console",
            dependencies: [
                "BrokerAPI", "Gateway", "Observability", "Shard", "BrokerConfiguration", "Archive",
                "Webhooks", "Broker", "PusherProtocol", "BrowserClient", "HTTPServer", "HTTP1",
                "Net", "Digests", "Primitives", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "FanfareServer",
            dependencies: [
                "Console", "BrokerAPI", "Observability", "Gateway", "Cluster", "Shard",
                "BrokerConfiguration", "Archive", "Webhooks", "Broker", "PusherProtocol",
                "HTTPServer", "HTTP1", "WebSocket", "Net", "Digests", "Primitives",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: strict
        ),

        .target(
            name: "HTTPClient",
            dependencies: [
                "Digests", "Primitives",
                .target(name: "Net", condition: onLinux),
                .target(name: "HTTP1", condition: onLinux),
            ],
            swiftSettings: strict
        ),

        // The SDKs.
        .target(name: "FanfareOutbox", swiftSettings: strict),
        .target(
            name: "FanfareStorage",
            dependencies: ["FanfareOutbox", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: strict
        ),
        .target(
            name: "FanfareClient",
            dependencies: [
                "FanfareOutbox", "PusherProtocol", "Digests", "HTTP1", "HTTPClient", "Primitives",
                .target(name: "Net", condition: onLinux),
                .target(name: "WebSocket", condition: onLinux),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "FanfareEncryption",
            dependencies: ["FanfareClient", "FanfareAPI", "PusherProtocol", "Digests", "CSodium"],
            swiftSettings: strict
        ),
        .target(
            name: "PusherSwift",
            dependencies: [
                "FanfareClient", "PusherProtocol",
                // The official client decrypts events by itself.
                .target(name: "FanfareEncryption", condition: onLinux),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "FanfareAPI",
            dependencies: ["FanfareOutbox", "PusherProtocol", "HTTPClient"],
            swiftSettings: strict
        ),
        // An in-process broker for the tests of apps, with the modules of the real one.
        .target(
            name: "FanfareTesting",
            dependencies: ["FanfareClient", "Broker", "PusherProtocol", "Primitives", "LiveRows"],
            swiftSettings: strict
        ),

        // Live lists: changes of lists, without Foundation and concurrency.
        .target(name: "LiveRows", swiftSettings: strict),
        // Lists that follow their sources, such as a database query, and tables that show them.
        .target(
            name: "LiveCollections",
            dependencies: ["LiveRows", "FanfareClient", "HTTPClient"],
            swiftSettings: strict
        ),
        .target(
            name: "LiveQueries",
            dependencies: [
                "LiveCollections", "LiveRows", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "FanfareUI",
            dependencies: ["FanfareClient", "LiveCollections", "LiveRows"],
            swiftSettings: strict
        ),
        .target(
            name: "LiveTables",
            dependencies: ["LiveCollections", "LiveRows", "FanfareClient"],
            swiftSettings: strict
        ),

        // Programs.
        .executableTarget(
            name: "fanfare",
            dependencies: [
                "CommandSupport", "FanfareBench", "CLinux", "Cluster", "FanfareServer",
                "Observability", "BrokerConfiguration", "ServerLog", "FanfareClient", "FanfareAPI",
                "Webhooks",
                "Broker", "Net", "HTTP1", "WebSocket", "PusherProtocol", "Primitives", "Digests",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        // `fanfare bench`: a load generator for any server with the Pusher protocol.
        .target(
            name: "FanfareBench",
            dependencies: [
                "CommandSupport", "Net", "WebSocket", "HTTP1", "PusherProtocol", "Primitives",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Histogram", package: "hdrhistogram-swift"),
            ],
            swiftSettings: strict
        ),
        // Shared by all commands: options for a broker, standard streams, proc(5).
        .target(
            name: "CommandSupport",
            dependencies: [
                "Net", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "websocket-echo-server",
            dependencies: [
                "Net", "WebSocket", "HTTP1",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/WebSocketEchoServer",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "websocket-conformance-client",
            dependencies: [
                "Net", "WebSocket", "HTTP1", "Primitives",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/WebSocketConformanceClient",
            swiftSettings: strict
        ),

        // The micro-benchmarks of `make microbench`; Benchmarks/ contains all other measurements.
        .executableTarget(
            name: "fanfare-microbench",
            dependencies: [
                "WebSocket", "HTTP1", "PusherProtocol", "Primitives", "Net", "LiveRows",
                "ListSimulation", "TestRandom", "Simulation", "Archive", "Broker",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Benchmarks/Micro",
            swiftSettings: strict
        ),

        // Demos.
        .target(
            name: "DemoSite",
            dependencies: [
                "HTTPServer", "HTTP1", "Net", "FanfareAPI", "FanfareStorage", "PusherProtocol",
                "LiveRows",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Sources/Demos/Site",
            resources: [.embedInCode("Page")],
            swiftSettings: strict
        ),
        .target(
            name: "RealtimeTable",
            dependencies: [
                "DemoSite", "HTTP1", "LiveRows", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Sources/Demos/RealtimeTable",
            resources: [.embedInCode("Page")],
            swiftSettings: strict
        ),
        .target(
            name: "Films",
            dependencies: [
                "DemoSite", "HTTP1", "LiveRows", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Sources/Demos/Films",
            resources: [.embedInCode("Page")],
            swiftSettings: strict
        ),
        .target(
            name: "CollaborativeText",
            dependencies: [
                "DemoSite", "LiveCollections", "HTTP1", "HTTPServer",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Sources/Demos/Text",
            resources: [.embedInCode("Page")],
            swiftSettings: strict
        ),
        .target(
            name: "Contacts",
            dependencies: [
                "DemoSite", "HTTP1", "HTTPServer", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Sources/Demos/Contacts",
            resources: [.embedInCode("Page")],
            swiftSettings: strict
        ),
        .target(
            name: "ToDo",
            dependencies: [
                "DemoSite", "HTTP1", "HTTPServer", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Sources/Demos/ToDo",
            resources: [.embedInCode("Page")],
            swiftSettings: strict
        ),
        .target(
            name: "Room",
            dependencies: [
                "DemoSite", "FanfareEncryption", "HTTP1", "HTTPServer",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Sources/Demos/Room",
            resources: [.embedInCode("Page")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "fanfare-demos",
            dependencies: [
                "DemoSite", "RealtimeTable", "Films", "CollaborativeText", "Contacts", "ToDo",
                "Room",
                "FanfareAPI", "Net",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Demos/Program",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "demo-terminal",
            dependencies: [
                "FanfareClient", "FanfareAPI", "LiveCollections", "LiveQueries", "LiveRows",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Demos/Terminal",
            swiftSettings: strict
        ),

        // Test support: a broker on a free port.
        .target(
            name: "TestBroker",
            dependencies: [
                "FanfareServer", "BrokerConfiguration", "FanfareAPI", "Net",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/TestBroker",
            swiftSettings: strict
        ),
        // The program `fanfare` as a process.
        .target(
            name: "TestProgram",
            dependencies: ["TestPorts"],
            path: "Tests/TestProgram",
            swiftSettings: strict
        ),
        // The site around a demo, without a socket.
        .target(
            name: "TestSite",
            dependencies: [
                "DemoSite", "FanfareAPI", "HTTP1", "HTTPServer",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Tests/TestSite",
            swiftSettings: strict
        ),
        // A scripted HTTP server.
        .target(name: "TestHTTPServer", path: "Tests/TestHTTPServer", swiftSettings: strict),
        // Files and certificates that are deleted after a test.
        .target(
            name: "TestFiles",
            dependencies: ["Net"],
            path: "Tests/TestFiles",
            swiftSettings: strict
        ),
        // Ports for servers that are told their port.
        .target(name: "TestPorts", path: "Tests/TestPorts", swiftSettings: strict),
        // A Redis server of a test's own, and values as trees.
        .target(
            name: "TestRedis",
            dependencies: ["RESP", "Net"],
            path: "Tests/TestRedis",
            swiftSettings: strict
        ),
        // A Redis server in memory, whose scripts run in Lua.
        .target(
            name: "RedisModel",
            dependencies: [
                "RESP", "Digests", "Primitives", .target(name: "CLua", condition: onLinux),
            ],
            path: "Tests/RedisModel",
            swiftSettings: strict
        ),
        // Seeded random numbers.
        .target(name: "TestRandom", path: "Tests/TestRandom", swiftSettings: strict),
        // A simulated network between a list's writer and its clients.
        .target(
            name: "ListSimulation",
            dependencies: ["LiveCollections", "LiveRows", "TestRandom"],
            path: "Tests/ListSimulation",
            swiftSettings: strict
        ),
        // The fuzz targets, which the tests run over the seeds.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "WebSocket", "HTTP1", "RESP", "Redis", "PusherProtocol", "Primitives", "Broker",
                "TestRandom",
            ],
            path: "Tests/Fuzz/Targets",
            swiftSettings: strict
        ),
        .target(
            name: "ServerFuzzTargets",
            dependencies: [
                "FuzzTargets", "FanfareServer", "BrokerConfiguration", "Simulation", "RedisModel",
                "Redis", "RESP", "Net", "Archive", "Broker", "Digests", "PusherProtocol", "SQLite",
                "WebSocket",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Fuzz/Server",
            swiftSettings: strict
        ),
        // The simulated broker between its clients and backends.
        .target(
            name: "Simulation",
            dependencies: [
                "Shard", "Cluster", "Gateway", "FanfareServer", "BrokerConfiguration", "Archive",
                "Broker", "HTTPServer", "Net", "CLinux", "WebSocket", "PusherProtocol", "Digests",
                "TestRandom", "Redis", "RESP", "RedisModel", "Webhooks",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Simulation",
            swiftSettings: strict
        ),
        // Clients of the Swift SDK for `make recovery`.
        .executableTarget(
            name: "recovery-subscribers",
            dependencies: [
                "FanfareClient", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/RecoverySubscribers",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "fanfare-simulate",
            dependencies: [
                "Simulation", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/SimulationProgram",
            swiftSettings: strict
        ),
        // The programs in the guides and in the documentation of the SDKs.
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "FanfareClient", "FanfareEncryption", "PusherSwift", "FanfareAPI", "FanfareTesting",
                "FanfareStorage", "FanfareUI", "LiveRows", "LiveCollections", "LiveQueries",
                "LiveTables",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            // Read from the sources, not from the bundle.
            exclude: ["Interfaces"],
            swiftSettings: strict
        ),
        // The tests of the modules.
        .testTarget(
            name: "PrimitivesTests",
            dependencies: ["Primitives", "TestRandom"],
            swiftSettings: strict
        ),
        .testTarget(name: "DigestsTests", dependencies: ["Digests"], swiftSettings: strict),
        .testTarget(
            name: "WebSocketTests",
            dependencies: ["WebSocket", "Primitives", "TestRandom"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RESPTests",
            dependencies: ["RESP", "TestRedis"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RedisTests",
            dependencies: [
                "Redis", "RedisModel", "RESP", "Net", "TestPorts", "TestRandom", "TestRedis",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTP1Tests",
            dependencies: ["HTTP1", "Primitives", "TestRandom"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PusherProtocolTests",
            dependencies: ["PusherProtocol", "Primitives", "Digests", "TestRandom"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "BrokerTests",
            dependencies: ["Broker", "PusherProtocol", "TestRandom"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetTests",
            dependencies: ["Net", "CLinux", "COpenSSL", "TestRandom"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: ["HTTPServer", "HTTP1", "Net"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTPClientTests",
            dependencies: ["HTTPClient", "HTTP1", "Net", "TestHTTPServer"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ArchiveTests",
            dependencies: [
                "Archive", "Broker", "PusherProtocol", "SQLite", "TestRandom",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "WebhooksTests",
            dependencies: [
                "Webhooks", "SQLite", "Broker", "PusherProtocol", "HTTPClient", "HTTPServer",
                "HTTP1", "Net", "TestHTTPServer", "TestRandom",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ServerLogTests",
            dependencies: [
                "ServerLog", "Primitives", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "BrokerConfigurationTests",
            dependencies: [
                "BrokerConfiguration", "Broker", "PusherProtocol", "ServerLog", "Net", "WebSocket",
                "Webhooks", "TestFiles",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareServerTests",
            dependencies: [
                "Shard", "Cluster", "Gateway", "Observability", "BrokerAPI", "Console",
                "FanfareServer", "BrokerConfiguration", "Simulation", "Webhooks", "Archive",
                "SQLite", "BrowserClient", "Net", "HTTP1", "HTTPServer",
                "WebSocket", "PusherProtocol", "Broker", "Digests", "TestFiles", "TestPorts",
                "TestRandom", "TestRedis", "Redis", "RESP",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["Simulation", "fanfare-simulate"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareClientTests",
            dependencies: [
                "FanfareClient", "FanfareServer", "BrokerConfiguration", "Broker",
                "FanfareStorage", "FanfareTesting", "FanfareAPI", "Net", "HTTP1", "HTTPServer",
                "HTTPClient", "WebSocket", "PusherProtocol", "TestPorts", "TestRandom",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareEncryptionTests",
            dependencies: [
                "FanfareEncryption", "FanfareClient", "FanfareAPI", "PusherProtocol", "TestBroker",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PusherSwiftTests",
            dependencies: [
                "PusherSwift", "FanfareClient", "FanfareTesting", "FanfareAPI", "FanfareEncryption",
                "TestBroker", "HTTPServer", "HTTP1", "Net",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PusherSwiftMode5Tests",
            dependencies: ["PusherSwift", "FanfareTesting", "FanfareAPI", "TestBroker"],
            // The Swift language mode of apps written for the official SDK.
            swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]
        ),
        .testTarget(
            name: "FanfareAPITests",
            dependencies: [
                "FanfareAPI", "FanfareClient", "FanfareEncryption", "HTTPClient", "TestBroker",
                "TestHTTPServer", "PusherProtocol", "Net",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareStorageTests",
            dependencies: [
                "FanfareStorage", "FanfareOutbox", "FanfareClient", "FanfareTesting",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LiveRowsTests",
            dependencies: ["LiveRows", "TestRandom"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareTestingTests",
            dependencies: ["FanfareTesting", "FanfareClient"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LiveCollectionsTests",
            dependencies: [
                "LiveCollections", "LiveRows", "ListSimulation", "FanfareClient", "FanfareAPI",
                "FanfareTesting", "TestBroker", "TestRandom",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LiveQueriesTests",
            dependencies: [
                "LiveQueries", "LiveCollections", "LiveRows", "FanfareClient",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareUITests",
            dependencies: [
                "FanfareUI", "FanfareClient", "FanfareTesting", "LiveCollections", "LiveRows",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LiveTablesTests",
            dependencies: ["LiveTables", "LiveCollections", "LiveRows", "TestRandom"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "DemoSiteTests",
            dependencies: [
                "LiveRows", "DemoSite", "TestSite", "FanfareAPI", "PusherProtocol", "HTTP1",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CollaborativeTextTests",
            dependencies: [
                "CollaborativeText", "DemoSite", "TestSite", "LiveCollections", "HTTP1",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RealtimeTableTests",
            dependencies: [
                "LiveRows", "RealtimeTable", "DemoSite", "TestSite", "TestRandom", "HTTP1",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FilmsTests",
            dependencies: ["LiveRows", "Films", "DemoSite", "TestSite", "HTTP1"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ContactsTests",
            dependencies: [
                "Contacts", "DemoSite", "TestSite", "HTTP1",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ToDoTests",
            dependencies: [
                "ToDo", "DemoSite", "TestSite", "HTTP1",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RoomTests",
            dependencies: [
                "Room", "DemoSite", "TestSite", "FanfareEncryption", "HTTP1",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FuzzTests",
            dependencies: ["FuzzTargets", "ServerFuzzTargets"],
            path: "Tests/Fuzz/Tests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "DemoTerminalTests",
            dependencies: [
                "demo-terminal", "FanfareClient", "LiveCollections",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareCommandTests",
            dependencies: [
                "fanfare", "CommandSupport", "TestProgram", "Cluster", "FanfareServer",
                "BrokerConfiguration", "ServerLog", "FanfareClient", "FanfareEncryption",
                "Webhooks", "Net", "HTTP1", "HTTPServer", "PusherProtocol", "TestRedis", "Archive",
                "Broker",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareBenchTests",
            dependencies: [
                "fanfare", "FanfareBench", "CommandSupport", "TestPorts", "TestProgram",
                "FanfareServer", "BrokerConfiguration", "Broker", "Net", "HTTP1", "WebSocket",
                "PusherProtocol",
                .product(name: "Histogram", package: "hdrhistogram-swift"),
            ],
            swiftSettings: strict
        ),
    ]
)

// The programs of `make fuzz` link the fuzzer's own `main`: only a build with `-sanitize=fuzzer` has one.
if Context.environment["FANFARE_FUZZ"] != nil {
    package.targets += [
        .executableTarget(
            name: "fanfare-fuzz",
            dependencies: ["FuzzTargets"],
            path: "Tests/Fuzz/Program",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "fanfare-fuzz-server",
            dependencies: ["ServerFuzzTargets", "FuzzTargets"],
            path: "Tests/Fuzz/ServerProgram",
            swiftSettings: strict
        ),
    ]
}
