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

extension Target.Dependency {
    static let argumentParser = product(name: "ArgumentParser", package: "swift-argument-parser")
    static let grdb = product(name: "GRDB", package: "GRDB.swift")
    static let histogram = product(name: "Histogram", package: "hdrhistogram-swift")
    static let logging = product(name: "Logging", package: "swift-log")
    static let metrics = product(name: "Metrics", package: "swift-metrics")

    /// A module that needs epoll, OpenSSL or another library of Linux.
    static func onLinux(_ name: String) -> Self {
        .target(name: name, condition: .when(platforms: [.linux]))
    }
}

/// A library, whose module contains the files of its folders `embedding`.
func module(
    _ name: String,
    _ dependencies: [Target.Dependency] = [],
    at path: String? = nil,
    embedding folders: [String] = [],
    settings: [SwiftSetting] = strict
) -> Target {
    .target(
        name: name,
        dependencies: dependencies,
        path: path,
        exclude: folders,
        swiftSettings: settings,
        plugins: folders.isEmpty ? [] : [.plugin(name: "EmbedFiles")]
    )
}

/// A program.
func program(
    _ name: String,
    _ dependencies: [Target.Dependency],
    at path: String? = nil
) -> Target {
    .executableTarget(
        name: name,
        dependencies: dependencies,
        path: path,
        swiftSettings: strict
    )
}

/// The tests of a module.
func tests(
    _ name: String,
    _ dependencies: [Target.Dependency],
    at path: String? = nil,
    exclude: [String] = [],
    settings: [SwiftSetting] = strict
) -> Target {
    .testTarget(
        name: name,
        dependencies: dependencies,
        path: path,
        exclude: exclude,
        swiftSettings: settings
    )
}

let package = Package(
    name: "fanfare",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
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
        .plugin(name: "EmbedFiles", capability: .buildTool()),

        // System libraries: a module map, and the few macros that Swift cannot import.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"])]
        ),
        // For the model of Redis alone. With `pkgConfig`, SwiftPM would warn in all builds that the library is missing.
        .systemLibrary(name: "CLua", path: "Tests/CLua"),
        // For the tests of encryption alone.
        .systemLibrary(name: "CSodium", path: "Tests/CSodium"),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        // Modules without I/O: no socket, clock or random source.
        // With lifetimes for the spans of arrays, which the standard library of older Apple platforms does not have.
        module("Primitives", settings: strict + [.enableExperimentalFeature("Lifetimes")]),
        module("Digests", ["Primitives", .onLinux("COpenSSL")]),
        module("WebSocket", ["CZlib", "Digests", "Primitives"]),
        module("HTTP1", ["Primitives"]),
        module("RESP", ["Primitives"]),
        module("PusherProtocol", ["Digests", "Primitives"]),
        module("Broker", ["PusherProtocol", "Primitives"]),

        // What the broker serves to web pages: scripts, contained in the program.
        module("BrowserClient", ["CZlib"], embedding: ["Modules", "Console"]),

        // Modules with I/O.
        module("SQLite", ["CSQLite"]),
        module("Net", ["CLinux", "COpenSSL", "Primitives"]),
        module("HTTPServer", ["Net", "HTTP1"]),
        module("Redis", ["RESP", "Net", "Digests", "Primitives"], embedding: ["Scripts/Lua"]),
        module(
            "Webhooks",
            [
                "Broker", "PusherProtocol", "Primitives", "HTTPClient", "Net", "SQLite", "CSQLite",
                .logging,
            ]
        ),
        module(
            "Archive",
            ["Broker", "PusherProtocol", "Primitives", "SQLite", "CSQLite", .logging]
        ),
        module("ServerLog", ["PusherProtocol", "Primitives", .logging]),
        module(
            "BrokerConfiguration",
            [
                "Broker", "PusherProtocol", "HTTP1", "HTTPClient", "HTTPServer", "Net",
                "Primitives", "Redis", "ServerLog", "WebSocket", "CYAML", .logging,
            ]
        ),
        module("Shard", ["Broker", "PusherProtocol", "HTTP1", "Net", "Primitives", .logging]),
        module(
            "Cluster",
            [
                "Shard", "Redis", "RESP", "BrokerConfiguration", "Broker", "PusherProtocol", "Net",
                "Primitives", .logging,
            ]
        ),
        module(
            "Gateway",
            ["Shard", "Broker", "PusherProtocol", "HTTPServer", "HTTP1", "WebSocket", "Net"]
        ),
        module(
            "Observability",
            [
                "Shard", "BrokerConfiguration", "Archive", "Webhooks", "Broker", "PusherProtocol",
                "HTTPServer", "HTTP1", "Net", "Digests", "Primitives", .logging, .metrics,
            ]
        ),
        module(
            "BrokerAPI",
            [
                "Observability", "Shard", "Broker", "PusherProtocol", "BrowserClient", "HTTPServer",
                "HTTP1", "Net", "Digests", "Primitives",
            ]
        ),
        module(
            "Console",
            [
                "BrokerAPI", "Gateway", "Observability", "Shard", "BrokerConfiguration", "Archive",
                "Webhooks", "Broker", "PusherProtocol", "BrowserClient", "HTTPServer", "HTTP1",
                "Net", "Digests", "Primitives", .logging,
            ]
        ),
        module(
            "FanfareServer",
            [
                "Console", "BrokerAPI", "Observability", "Gateway", "Cluster", "Shard",
                "BrokerConfiguration", "Archive", "Webhooks", "Broker", "PusherProtocol",
                "HTTPServer", "HTTP1", "WebSocket", "Net", "Digests", "Primitives", .logging,
                .metrics,
            ]
        ),

        module("HTTPClient", ["Digests", "Primitives", .onLinux("Net"), .onLinux("HTTP1")]),

        // The SDKs.
        module("FanfareOutbox", ["Primitives"]),
        module("FanfareStorage", ["FanfareOutbox", "Primitives", .grdb]),
        module(
            "FanfareClient",
            [
                "FanfareOutbox", "PusherProtocol", "Digests", "HTTP1", "HTTPClient", "Primitives",
                .onLinux("Net"), .onLinux("WebSocket"), .logging,
            ]
        ),
        module(
            "FanfareEncryption",
            ["FanfareClient", "FanfareAPI", "PusherProtocol", "Digests", "Primitives"]
        ),
        module(
            "PusherSwift",
            // With encryption: the official client decrypts events by itself.
            ["FanfareClient", "FanfareEncryption", "PusherProtocol", .logging]
        ),
        module("FanfareAPI", ["FanfareOutbox", "PusherProtocol", "HTTPClient", "Primitives"]),
        // An in-process broker for the tests of apps, with the modules of the real one.
        module(
            "FanfareTesting",
            ["FanfareClient", "Broker", "PusherProtocol", "Primitives", "LiveRows"]
        ),

        // Live lists: changes of lists, without Foundation and concurrency.
        module("LiveRows"),
        // Lists that follow their sources, such as a database query, and tables that show them.
        module("LiveCollections", ["LiveRows", "FanfareClient", "HTTPClient", "Primitives"]),
        module("LiveQueries", ["LiveCollections", "LiveRows", .grdb]),
        module("FanfareUI", ["FanfareClient", "LiveCollections", "LiveRows", "Primitives"]),
        module("LiveTables", ["LiveCollections", "LiveRows", "FanfareClient"]),

        // Programs.
        program(
            "fanfare",
            [
                "CommandSupport", "FanfareBench", "CLinux", "Cluster", "FanfareServer",
                "Observability", "BrokerConfiguration", "ServerLog", "FanfareClient", "FanfareAPI",
                "FanfareEncryption", "Webhooks", "Broker", "Net", "HTTP1", "WebSocket",
                "PusherProtocol", "Primitives",
                "Digests", .argumentParser, .logging,
            ]
        ),
        // `fanfare bench`: a load generator for any server with the Pusher protocol.
        module(
            "FanfareBench",
            [
                "CommandSupport", "Net", "WebSocket", "HTTP1", "HTTPClient", "PusherProtocol",
                "Primitives", .argumentParser, .histogram,
            ]
        ),
        // Shared by all commands: options for a broker, standard streams, proc(5).
        module("CommandSupport", ["Net", .argumentParser]),
        program(
            "websocket-echo-server",
            ["Net", "WebSocket", "HTTP1", .argumentParser],
            at: "Sources/WebSocketEchoServer"
        ),
        program(
            "websocket-conformance-client",
            ["Net", "WebSocket", "HTTP1", "Primitives", .argumentParser],
            at: "Sources/WebSocketConformanceClient"
        ),

        // The micro-benchmarks of `make microbench`; Benchmarks/ contains all other measurements.
        program(
            "fanfare-microbench",
            [
                "WebSocket", "HTTP1", "PusherProtocol", "Primitives", "Net", "LiveRows",
                "ListSimulation", "TestRandom", "Simulation", "Archive", "Broker", .argumentParser,
            ],
            at: "Benchmarks/Micro"
        ),

        // Demos.
        module(
            "DemoSite",
            [
                "BrowserClient", "HTTPServer", "HTTP1", "Net", "FanfareAPI", "FanfareStorage",
                "PusherProtocol", "LiveRows", .grdb,
            ],
            at: "Sources/Demos/Site",
            embedding: ["Page"]
        ),
        module(
            "RealtimeTable",
            ["DemoSite", "HTTP1", "LiveRows", .grdb],
            at: "Sources/Demos/RealtimeTable",
            embedding: ["Page"]
        ),
        module(
            "Films",
            ["DemoSite", "HTTP1", "LiveRows", .grdb],
            at: "Sources/Demos/Films",
            embedding: ["Page"]
        ),
        module(
            "CollaborativeText",
            ["DemoSite", "LiveCollections", "HTTP1", "HTTPServer", .grdb],
            at: "Sources/Demos/Text",
            embedding: ["Page"]
        ),
        module(
            "Contacts",
            ["DemoSite", "HTTP1", "HTTPServer", .grdb],
            at: "Sources/Demos/Contacts",
            embedding: ["Page"]
        ),
        module(
            "ToDo",
            ["DemoSite", "HTTP1", "HTTPServer", .grdb],
            at: "Sources/Demos/ToDo",
            embedding: ["Page"]
        ),
        module(
            "Room",
            ["DemoSite", "BrowserClient", "FanfareEncryption", "HTTP1", "HTTPServer", .grdb],
            at: "Sources/Demos/Room",
            embedding: ["Page"]
        ),
        program(
            "fanfare-demos",
            [
                "DemoSite", "RealtimeTable", "Films", "CollaborativeText", "Contacts", "ToDo",
                "Room", "FanfareAPI", "Net", .grdb, .argumentParser,
            ],
            at: "Sources/Demos/Program"
        ),
        program(
            "demo-terminal",
            [
                "FanfareClient", "FanfareAPI", "LiveCollections", "LiveQueries", "LiveRows", .grdb,
                .argumentParser,
            ],
            at: "Sources/Demos/Terminal"
        ),

        // Test support: a broker on a free port.
        module(
            "TestBroker",
            ["FanfareServer", "BrokerConfiguration", "FanfareAPI", "Net", .logging],
            at: "Tests/TestBroker"
        ),
        // The program `fanfare` as a process.
        module("TestProgram", ["TestPorts"], at: "Tests/TestProgram"),
        // The site around a demo, without a socket.
        module(
            "TestSite",
            ["DemoSite", "FanfareAPI", "HTTP1", "HTTPServer", .grdb],
            at: "Tests/TestSite"
        ),
        // A scripted HTTP server.
        module("TestHTTPServer", at: "Tests/TestHTTPServer"),
        // Files and certificates that are deleted after a test.
        module("TestFiles", ["Net"], at: "Tests/TestFiles"),
        // Ports for servers that are told their port.
        module("TestPorts", at: "Tests/TestPorts"),
        // A Redis server of a test's own, and values as trees.
        module("TestRedis", ["RESP", "Net"], at: "Tests/TestRedis"),
        // A Redis server in memory, whose scripts run in Lua.
        module(
            "RedisModel",
            ["RESP", "Digests", "Primitives", .onLinux("CLua")],
            at: "Tests/RedisModel"
        ),
        // Seeded random numbers.
        module("TestRandom", at: "Tests/TestRandom"),
        // A simulated network between a list's writer and its clients.
        module(
            "ListSimulation",
            ["LiveCollections", "LiveRows", "FanfareTesting", "TestRandom"],
            at: "Tests/ListSimulation"
        ),
        // The fuzz targets, which the tests run over the seeds.
        module(
            "FuzzTargets",
            [
                "WebSocket", "HTTP1", "RESP", "Redis", "PusherProtocol", "Primitives", "Broker",
                "TestRandom",
            ],
            at: "Tests/Fuzz/Targets"
        ),
        module(
            "ServerFuzzTargets",
            [
                "FuzzTargets", "FanfareServer", "BrokerConfiguration", "Simulation", "RedisModel",
                "Redis", "RESP", "Net", "Archive", "Broker", "Digests", "PusherProtocol", "SQLite",
                "WebSocket", .logging,
            ],
            at: "Tests/Fuzz/Server"
        ),
        // The simulated broker between its clients and backends.
        module(
            "Simulation",
            [
                "Shard", "Cluster", "Gateway", "FanfareServer", "BrokerConfiguration", "Archive",
                "Broker", "HTTPServer", "Net", "CLinux", "WebSocket", "PusherProtocol", "Digests",
                "TestRandom", "Redis", "RESP", "RedisModel", "Webhooks", "FanfareClient",
                "Primitives", .logging,
            ],
            at: "Tests/Simulation"
        ),
        // Clients of the Swift SDK for `make recovery`.
        program(
            "recovery-subscribers",
            ["FanfareClient", .argumentParser],
            at: "Tests/RecoverySubscribers"
        ),
        program(
            "fanfare-simulate",
            ["Simulation", .argumentParser],
            at: "Tests/SimulationProgram"
        ),
        // The programs in the guides and in the documentation of the SDKs. The interfaces are read from the sources, not from
        // the bundle.
        tests(
            "DocumentationTests",
            [
                "FanfareClient", "FanfareEncryption", "PusherSwift", "FanfareAPI", "FanfareTesting",
                "FanfareStorage", "FanfareUI", "LiveRows", "LiveCollections", "LiveQueries",
                "LiveTables", .grdb,
            ],
            exclude: ["Interfaces"]
        ),
        // The tests of the modules.
        tests("PrimitivesTests", ["Primitives", "TestRandom"]),
        tests("DigestsTests", ["Digests"]),
        tests("WebSocketTests", ["WebSocket", "Primitives", "TestRandom"]),
        tests("RESPTests", ["RESP", "TestRedis"]),
        tests(
            "RedisTests",
            ["Redis", "RedisModel", "RESP", "Net", "TestPorts", "TestRandom", "TestRedis"]
        ),
        tests("HTTP1Tests", ["HTTP1", "Primitives", "TestRandom"]),
        tests("PusherProtocolTests", ["PusherProtocol", "Primitives", "Digests", "TestRandom"]),
        tests("BrokerTests", ["Broker", "PusherProtocol", "TestRandom"]),
        tests("NetTests", ["Net", "CLinux", "COpenSSL", "TestRandom"]),
        tests("HTTPServerTests", ["HTTPServer", "HTTP1", "Net"]),
        tests("HTTPClientTests", ["HTTPClient", "HTTP1", "Net", "TestHTTPServer"]),
        tests(
            "ArchiveTests",
            ["Archive", "Broker", "PusherProtocol", "SQLite", "TestRandom", .logging]
        ),
        tests(
            "WebhooksTests",
            [
                "Webhooks", "SQLite", "Broker", "PusherProtocol", "HTTPClient", "HTTPServer",
                "HTTP1", "Net", "TestHTTPServer", "TestRandom", .grdb, .logging,
            ]
        ),
        tests("ServerLogTests", ["ServerLog", "Primitives", .logging]),
        tests(
            "BrokerConfigurationTests",
            [
                "BrokerConfiguration", "Broker", "PusherProtocol", "ServerLog", "Net", "WebSocket",
                "TestFiles", .logging,
            ]
        ),
        tests("GatewayTests", ["Gateway"]),
        tests(
            "FanfareServerTests",
            [
                "Shard", "Cluster", "Gateway", "Observability", "BrokerAPI", "Console",
                "FanfareServer", "BrokerConfiguration", "Simulation", "Webhooks", "Archive",
                "SQLite", "BrowserClient", "Net", "HTTP1", "HTTPClient", "HTTPServer", "WebSocket",
                "PusherProtocol", "Broker", "Digests", "TestFiles", "TestPorts", "TestRandom",
                "TestRedis", "Redis", "RESP", .logging, .metrics,
            ]
        ),
        tests("SimulationTests", ["Simulation", "fanfare-simulate"]),
        tests(
            "FanfareClientTests",
            [
                "FanfareClient", "FanfareServer", "BrokerConfiguration", "Broker", "FanfareStorage",
                "FanfareTesting", "FanfareAPI", "Net", "HTTP1", "HTTPServer", "HTTPClient",
                "WebSocket", "PusherProtocol", "Primitives", "TestPorts", "TestRandom", .logging,
            ]
        ),
        tests(
            "FanfareEncryptionTests",
            [
                "FanfareEncryption", "FanfareClient", "FanfareAPI", "PusherProtocol", "TestBroker",
                "TestRandom", .onLinux("CSodium"),
            ]
        ),
        tests(
            "PusherSwiftTests",
            [
                "PusherSwift", "FanfareClient", "FanfareTesting", "FanfareAPI", "FanfareEncryption",
                "TestBroker", "HTTPServer", "HTTP1", "Net",
            ]
        ),
        // The Swift language mode of apps written for the official SDK.
        tests(
            "PusherSwiftMode5Tests",
            ["PusherSwift", "FanfareTesting", "FanfareAPI", "TestBroker"],
            settings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]
        ),
        tests(
            "FanfareAPITests",
            [
                "FanfareAPI", "FanfareClient", "FanfareEncryption", "HTTPClient", "TestBroker",
                "TestHTTPServer", "PusherProtocol", "Net",
            ]
        ),
        tests(
            "FanfareStorageTests",
            ["FanfareStorage", "FanfareOutbox", "FanfareClient", "FanfareTesting", .grdb]
        ),
        tests("LiveRowsTests", ["LiveRows", "FanfareTesting", "TestRandom"]),
        tests("FanfareTestingTests", ["FanfareTesting", "FanfareClient"]),
        tests(
            "LiveCollectionsTests",
            [
                "LiveCollections", "LiveRows", "ListSimulation", "FanfareClient", "FanfareAPI",
                "FanfareTesting", "TestBroker", "TestRandom",
            ]
        ),
        tests(
            "LiveQueriesTests",
            [
                "LiveQueries", "LiveCollections", "LiveRows", "FanfareClient", "FanfareTesting",
                .grdb,
            ]
        ),
        tests(
            "FanfareUITests",
            ["FanfareUI", "FanfareClient", "FanfareTesting", "LiveCollections", "LiveRows"]
        ),
        tests(
            "LiveTablesTests",
            ["LiveTables", "LiveCollections", "LiveRows", "FanfareTesting", "TestRandom"]
        ),
        tests(
            "DemoSiteTests",
            ["LiveRows", "DemoSite", "TestSite", "FanfareAPI", "PusherProtocol", "HTTP1", .grdb]
        ),
        tests(
            "CollaborativeTextTests",
            ["CollaborativeText", "DemoSite", "TestSite", "LiveCollections", "HTTP1", .grdb]
        ),
        tests(
            "RealtimeTableTests",
            ["LiveRows", "RealtimeTable", "DemoSite", "TestSite", "TestRandom", "HTTP1", .grdb]
        ),
        tests("FilmsTests", ["LiveRows", "Films", "DemoSite", "TestSite", "HTTP1"]),
        tests("ContactsTests", ["Contacts", "DemoSite", "TestSite", "HTTP1", .grdb]),
        tests("ToDoTests", ["ToDo", "DemoSite", "TestSite", "HTTP1", .grdb]),
        tests("RoomTests", ["Room", "DemoSite", "TestSite", "FanfareEncryption", "HTTP1", .grdb]),
        tests("FuzzTests", ["FuzzTargets", "ServerFuzzTargets"], at: "Tests/Fuzz/Tests"),
        tests(
            "DemoTerminalTests",
            ["demo-terminal", "FanfareClient", "LiveCollections", .grdb, .argumentParser]
        ),
        tests(
            "FanfareCommandTests",
            [
                "fanfare", "CommandSupport", "TestProgram", "Cluster", "FanfareServer",
                "BrokerConfiguration", "ServerLog", "FanfareClient", "FanfareEncryption",
                "Webhooks", "Net", "HTTP1", "HTTPServer", "PusherProtocol", "TestRedis", "Archive",
                "Broker",
            ]
        ),
        tests(
            "FanfareBenchTests",
            [
                "fanfare", "FanfareBench", "CommandSupport", "TestPorts", "TestProgram",
                "FanfareServer", "BrokerConfiguration", "Broker", "Net", "HTTP1", "HTTPClient",
                "WebSocket", "PusherProtocol", .histogram,
            ]
        ),
    ]
)

// The programs of `make fuzz` link the fuzzer's own `main`: only a build with `-sanitize=fuzzer` has one.
if Context.environment["FANFARE_FUZZ"] != nil {
    package.targets += [
        program("fanfare-fuzz", ["FuzzTargets"], at: "Tests/Fuzz/Program"),
        program(
            "fanfare-fuzz-server",
            ["ServerFuzzTargets", "FuzzTargets"],
            at: "Tests/Fuzz/ServerProgram"
        ),
    ]
}
