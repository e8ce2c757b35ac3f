import Testing

@testable import BrokerConfiguration

@Suite("Configuration: several nodes") struct ConfigurationClusterTests {
    /// An app that other machines may know of.
    private static let app = "\napps: [{id: 1, key: a, secret: b}]\n"

    @Test func everyKeyIsRead() throws {
        let yaml = """
            cluster:
              engine: redis
              node: web-1.example
              partitions: 64
              prefix: live
              redis:
                urls: ["rediss://redis.example:6380"]
                sentinels: ["redis://sentinel.example:26379"]
                mode: sentinel
                username: fanfare
                password: swordfish
                trust: /etc/fanfare/redis.pem
                acknowledge: replica
                replicas: 2
                patience: 0
                queued_bytes_max: 1 MiB
              lease: 20
              close_after: 30
            """ + Self.app
        let cluster = try Configuration.load(yaml: yaml, file: "f.yaml").cluster
        var expected = ClusterConfiguration()
        (expected.engine, expected.node) = (.redis, "web-1.example")
        (expected.partitions, expected.prefix) = (64, "live")
        expected.redis.urls = ["rediss://redis.example:6380"]
        expected.redis.sentinels = ["redis://sentinel.example:26379"]
        expected.redis.mode = .sentinel
        (expected.redis.username, expected.redis.password) = ("fanfare", "swordfish")
        expected.redis.trust = "/etc/fanfare/redis.pem"
        (expected.redis.acknowledge, expected.redis.replicas) = (.replica, 2)
        (expected.redis.patience, expected.redis.queuedBytesMax) = (0, 1 << 20)
        (expected.lease, expected.closeAfter) = (20, 30)
        #expect(cluster == expected)
        #expect(try Configuration.load(file: nil).cluster == ClusterConfiguration())
    }

    @Test(
        "The mode fits the addresses",
        arguments: [
            (
                "urls: ['redis://a'], mode: sentinel",
                "mode is sentinel: name all of them in cluster.redis.sentinels"
            ),
            (
                "urls: ['redis://a'], sentinels: ['redis://b'], mode: cluster",
                "mode is cluster, but there are cluster.redis.sentinels: leave one of the two out"
            ),
            (
                "urls: ['redis://a'], sentinels: ['redis://b'], mode: single",
                "mode is single, but there are cluster.redis.sentinels: leave one of the two out"
            ),
            (
                "urls: ['redis+unix:///a'], mode: cluster",
                "urls.0 is a path, but cluster.redis.mode is cluster: name the server"
            ),
        ]
    )
    func modes(redis: String, fault: String) throws {
        let yaml = "cluster: {engine: redis, redis: {\(redis)}}" + Self.app
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(yaml: yaml, file: "f.yaml")
        }
        let text = try #require(error?.description)
        #expect(text.hasPrefix("f.yaml:1: cluster.redis.\(fault)"), "\(text)")
    }

    @Test(arguments: [
        ("cluster: {engine: none, redis: {trust: a}}", nil),
        (
            "cluster: {engine: nats}",
            "f.yaml:1: cluster.engine must be one of redis, or none, not \"nats\""
        ),
        (
            "cluster: {engine: redis}",
            "cluster.redis.urls is empty, but cluster.engine is redis: name the server"
        ),
        (
            "cluster: {engine: redis, redis: {urls: ['redis://a', 'redis://b']}}", nil
        ),
        (
            "cluster: {engine: redis, redis: {urls: ['redis://a', 'redis://b', 'redis://a:6379']}}",
            "f.yaml:1: cluster.redis.urls.2 is there twice: each server has a share of the channels"
        ),
        (
            "cluster: {engine: redis, partitions: 1, redis: {urls: ['redis://a', 'redis://b']}}",
            "f.yaml:1: cluster.redis.urls names 2 servers for 1 parts: raise cluster.partitions"
        ),
        (
            "cluster: {engine: redis, redis: {urls: ['redis://a'], replicas: 2}}",
            "f.yaml:1: cluster.redis.replicas is of no use unless cluster.redis.acknowledge is replica"
        ),
        (
            "cluster: {engine: redis, redis: {urls: ['redis://a'], acknowledge: all}}",
            "f.yaml:1: cluster.redis.acknowledge must be one of primary, replica, not \"all\""
        ),
        (
            "cluster: {engine: redis, redis: {urls: ['redis://u:secret@a/1']}}",
            "f.yaml:1: cluster.redis.urls.0 must be an address as redis://HOST:6379, rediss:// for TLS, or "
                + "redis+unix:///PATH, not \"(secret)\""
        ),
        (
            "cluster: {engine: redis, redis: {urls: ['redis://a'], trust: b}}",
            "f.yaml:1: cluster.redis.trust is of no use without an address that begins with rediss://"
        ),
        (
            "cluster: {engine: redis, redis: {urls: ['redis+unix:///a'], sentinels: ['redis://b']}}",
            "f.yaml:1: cluster.redis.urls.0 is a path, but there are cluster.redis.sentinels: name the "
                + "primary as they do, redis://NAME"
        ),
        (
            "cluster: {engine: redis, redis: {urls: ['redis://a'], username: b}}",
            "f.yaml:1: cluster.redis.username needs a password: set cluster.redis.password"
        ),
        (
            "cluster: {engine: redis, redis: {urls: ['redis://a']}}\nrecovery: {spool: s}",
            "f.yaml:2: recovery.spool is of no use with cluster.engine: redis, which keeps all streams; "
                + "leave it out"
        ),
        (
            "cluster: {engine: redis, node: a b, redis: {urls: ['redis://a']}}",
            "f.yaml:1: cluster.node must be 1 to 64 letters, digits, ., - or _, or none, not \"a b\""
        ),
    ])
    func faults(yaml: String, fault: String?) {
        do throws(ConfigurationError) {
            _ = try Configuration.load(yaml: yaml + Self.app, file: "f.yaml")
            #expect(fault == nil)
        } catch {
            #expect(error.description == fault)
        }
    }

    @Test(arguments: [
        ("urls: ['redis://localhost']", true), ("urls: ['redis+unix:///a']", true),
        ("urls: ['redis://[::1]']", true), ("urls: ['redis://10.0.0.1']", false),
        ("urls: ['redis://main'], sentinels: ['redis://10.0.0.1']", false),
        ("urls: ['redis://main'], sentinels: ['redis://127.0.0.1']", true),
    ])
    func theDevelopmentAppIsForOneMachine(servers: String, isAllowed: Bool) {
        let yaml = "cluster: {engine: redis, redis: {\(servers)}}"
        do throws(ConfigurationError) {
            _ = try Configuration.load(yaml: yaml, file: "f.yaml")
            #expect(isAllowed)
        } catch {
            #expect(!isAllowed)
            #expect(
                error.description.hasPrefix(
                    "apps.0.secret is the development one, which is public, and cluster.redis is "
                        + "shared with other machines"
                )
            )
        }
    }

    @Test func storedChannelsAreRefused() {
        let yaml = """
            apps: [{id: 1, key: a, secret: b, recovery: {rules: [{store: sqlite}]}}]
            recovery: {database: d}
            cluster: {engine: redis, redis: {urls: ['redis://a']}}
            """
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(yaml: yaml, file: "f.yaml")
        }
        #expect(
            error?.faults.map(\.key) == ["apps.0.recovery.rules.0.store", "recovery.database"]
        )
    }
}
