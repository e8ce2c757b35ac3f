import Broker
import Foundation
import Logging
import Net
import TestFiles
import Testing

@testable import BrokerConfiguration

@Suite("Configuration: environment and options") struct ConfigurationSourcesTests {
    @Test func theEnvironmentOverridesTheFileAndOptionsOverrideBoth() throws {
        let yaml = "listen: {port: 1}\nloops: 1\nshutdown: {deadline: 1}"
        let environment = ["FANFARE_LISTEN_PORT": "2", "FANFARE_LOOPS": "2", "PATH": "/bin"]
        var options = ConfigurationOptions()
        options.set("listen.port", to: "3", by: "--port")
        let configuration = try Configuration.load(
            yaml: yaml,
            file: "f.yaml",
            environment: environment,
            options: options
        )
        #expect(configuration.port == 3)
        #expect(configuration.loops == 2)
        #expect(configuration.shutdown.deadline == 1)
    }

    @Test func everyKeyHasAVariable() throws {
        let pair = try TemporaryCertificate()
        let configuration = try Configuration.load(
            file: nil,
            environment: [
                "FANFARE_LISTEN_HOST": "::", "FANFARE_LISTEN_UNIX_SOCKET": "/s",
                "FANFARE_LISTEN_PATH_PREFIX": "/p", "FANFARE_TLS_PORT": "7",
                "FANFARE_TLS_CERTIFICATES_0_CERTIFICATE": pair.certificate.path,
                "FANFARE_TLS_CERTIFICATES_0_KEY": pair.key.path,
                "FANFARE_APPS_0_ID": "1", "FANFARE_APPS_0_KEY": "k", "FANFARE_APPS_0_SECRET": "s",
                "FANFARE_APPS_0_CONNECTIONS_MAX": "9", "FANFARE_APPS_1_ID": "2",
                "FANFARE_APPS_1_KEY": "l", "FANFARE_APPS_1_SECRET": "t",
                "FANFARE_LIMITS_CONNECTIONS_MAX": "none", "FANFARE_COMPRESSION_ENABLED": "false",
                "FANFARE_LOG_LEVEL": "warning",
            ]
        )
        #expect(configuration.hosts == ["::"])
        #expect(configuration.unixSocket == "/s")
        #expect(configuration.pathPrefix == "/p")
        #expect(configuration.tlsPort == 7)
        #expect(
            configuration.certificates.map { [$0.certificate, $0.key] } == [
                [pair.certificate.path, pair.key.path]
            ]
        )
        #expect(configuration.apps.map(\.secret) == ["s", "t"])
        #expect(configuration.apps[0].limits.connectionsMax == 9)
        #expect(configuration.connectionsMax == nil)
        #expect(configuration.compression.isEnabled == false)
        #expect(configuration.log.level == .warning)
    }

    @Test func aVariableChangesOneKeyOfAnItem() throws {
        let yaml = "apps: [{id: 1, key: k, secret: s}, {id: 2, key: l, secret: t}]"
        let environment = ["FANFARE_APPS_1_SECRET": "from-the-environment"]
        let configuration = try Configuration.load(
            yaml: yaml,
            file: "f.yaml",
            environment: environment
        )
        #expect(configuration.apps.map(\.secret) == ["s", "from-the-environment"])
    }

    @Test func aVariableEndsAnEmptyList() throws {
        let environment = [
            "FANFARE_APPS_0_ID": "1", "FANFARE_APPS_0_KEY": "k", "FANFARE_APPS_0_SECRET": "s",
        ]
        let configuration = try Configuration.load(
            yaml: "apps: []",
            file: "f.yaml",
            environment: environment
        )
        #expect(configuration.apps.map(\.key) == ["k"])
    }

    @Test(arguments: [
        ("FANFARE_LOOPS", "x", "loops must be a number of threads from 0 to 1024, not \"x\""),
        ("FANFARE_LISTEN_PROT", "1", "stands for no key: did you mean FANFARE_LISTEN_PORT?"),
        (
            "FANFARE_PORT", "1",
            "stands for no key: did you mean FANFARE_LISTEN_PORT or FANFARE_TLS_PORT or "
                + "FANFARE_METRICS_PORT?"
        ),
        (
            "FANFARE_APPS_3_SEKRET", "x",
            "stands for no key: did you mean FANFARE_APPS_3_SECRET?"
        ),
        (
            "FANFARE_APPS_00_SECRET", "x",
            "stands for no key: did you mean FANFARE_APPS_0_SECRET?"
        ),
        (
            "FANFARE_COLOUR", "red",
            "stands for no key: remove it, or see fanfare.example.yaml for all keys"
        ),
        ("FANFARE_APPS_1_SECRET", "s", "apps.1.secret is in no item: the next one is apps.0"),
    ])
    func faultsNameTheVariable(name: String, value: String, problem: String) throws {
        let found = ["\(name): \(problem)"]
        guard problem.hasPrefix("stands for no key") else {
            #expect(faults("", environment: [name: value]) == found)
            return
        }
        // Ignored, with a warning: another program may use the prefix.
        #expect(try Configuration.load(file: nil, environment: [name: value]) == .development)
        #expect(Configuration.warnings(of: [name: value]).map(\.description) == found)
    }

    @Test(arguments: [
        ("FANFARE_CONFIG", "f.yaml"), ("FANFARE_URL", "http://127.0.0.1:6001"),
        ("FANFARE_APP_ID", "1"), ("FANFARE_KEY", "k"), ("FANFARE_SECRET", "s"),
        ("FANFARE_APP_KEY", "k"), ("FANFARE_APP_SECRET", "s"), ("FANFARE_MASTER_KEY", "m"),
        ("FANFARE_METRICS_URL", "http://127.0.0.1:9100"),
        // An empty variable sets nothing: `FANFARE_LOOPS=${LOOPS:-}` in a compose file.
        ("FANFARE_LOOPS", ""), ("FANFARE_COLOUR", ""),
        // The variables of Kubernetes for a service named fanfare.
        ("FANFARE_SERVICE_HOST", "10.0.0.1"), ("FANFARE_SERVICE_PORT", "6001"),
        ("FANFARE_SERVICE_PORT_HTTP", "6001"), ("FANFARE_PORT", "tcp://10.0.0.1:6001"),
        ("FANFARE_PORT_6001_TCP", "tcp://10.0.0.1:6001"), ("FANFARE_PORT_6001_TCP_PROTO", "tcp"),
        ("FANFARE_PORT_6001_TCP_PORT", "6001"), ("FANFARE_PORT_6001_TCP_ADDR", "10.0.0.1"),
        ("FANFARE_REDIS_PORT_6379_TCP_ADDR", "10.0.0.2"),
    ])
    func variablesOfOthersAreLeftAlone(name: String, value: String) throws {
        let configuration = try Configuration.load(file: nil, environment: [name: value])
        #expect(configuration == .development)
        #expect(Configuration.warnings(of: [name: value]).isEmpty)
    }

    @Test(
        "Several hosts: a list, or one text with commas, which replaces the list of an earlier source"
    )
    func hosts() throws {
        let list = "listen: {host: [127.0.0.1, \"[::1]\"]}\nmetrics: {host: '127.0.0.2, localhost'}"
        let configuration = try Configuration.load(yaml: list, file: "f.yaml")
        #expect(configuration.hosts == ["127.0.0.1", "::1"])
        #expect(configuration.metrics.hosts == ["127.0.0.2", "127.0.0.1"])
        #expect(configuration.console.hosts == ["127.0.0.1"])
        let environment = ["FANFARE_LISTEN_HOST": "127.0.0.3,::1,127.0.0.4"]
        var options = ConfigurationOptions()
        #expect(
            try Configuration.load(yaml: list, file: "f.yaml", environment: environment).hosts
                == ["127.0.0.3", "::1", "127.0.0.4"]
        )
        options.set("listen.host", to: "127.0.0.5", by: "--host")
        #expect(
            try Configuration.load(
                yaml: list,
                file: "f.yaml",
                environment: environment,
                options: options
            ).hosts == ["127.0.0.5"]
        )
    }

    @Test(
        "A list of hosts has addresses, each once",
        arguments: [
            ("[]", "listen.host must be an IP address"),
            ("[127.0.0.1, here]", "listen.host must be an IP address"),
            ("[127.0.0.1, {a: b}]", "listen.host must be an IP address"),
            ("'127.0.0.1,'", "listen.host must be an IP address"),
            ("[127.0.0.1, localhost]", "listen.host has 127.0.0.1 twice"),
            ("['::', 127.0.0.1]", "listen.host has ::, which is every network, and 127.0.0.1"),
            ("[127.0.0.1, 0.0.0.0]", "listen.host has 0.0.0.0, which is every network, and"),
        ]
    )
    func faultyHosts(hosts: String, fault: String) {
        let app = "apps: [{id: 1, key: k, secret: a-secret-of-some-app}]"
        let found = faults("listen: {host: \(hosts)}\n\(app)")
        #expect(found.contains { $0.contains(fault) }, "\(found)")
        #expect(found.count == 1, "\(found)")
        #expect(faults("listen: {host: [0.0.0.0, \"::1\"]}\n\(app)").isEmpty)
    }

    @Test func optionsNameThemselvesInFaults() {
        var options = ConfigurationOptions()
        options.set("listen.host", to: "nowhere", by: "--host")
        options.set("tls.port", to: "6002", by: "--tls-port")
        let found = faults("listen: {host: 127.0.0.1}", options: options)
        #expect(found.count == 2)
        #expect(found.first?.hasPrefix("--host: listen.host must be an IP address") == true)
        #expect(found.last?.hasPrefix("--tls-port: tls.port needs a certificate") == true)
    }

    @Test func appsOfTheCommandLineReplaceTheOthers() throws {
        var options = ConfigurationOptions()
        options.addApp((id: "8", key: "k", secret: "s"), by: "--app")
        options.addApp((id: "9", key: "none", secret: "none"), by: "--app")
        let yaml = "apps: [{id: 1, key: a, secret: b, enabled: false}, {id: 2, key: c, secret: d}]"
        let configuration = try Configuration.load(yaml: yaml, file: "f.yaml", options: options)
        #expect(
            configuration.apps == [
                AppConfiguration(id: "8", key: "k", secret: "s"),
                AppConfiguration(id: "9", key: "none", secret: "none"),
            ]
        )
    }
}

@Suite("Suggestions for names") struct SuggestionTests {
    @Test(arguments: [
        ("", "", 0), ("a", "", 1), ("", "ab", 2), ("port", "prot", 1), ("port", "Port", 0),
        ("secret", "sekret", 1), ("loops", "loop", 1), ("abc", "ca", 3), ("kitten", "sitting", 3),
    ])
    func distance(a: String, b: String, expected: Int) {
        #expect(Suggestion.distance(a, b) == expected)
        #expect(Suggestion.distance(b, a) == expected)
    }
}
