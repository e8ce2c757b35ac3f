import BrokerConfiguration
import FanfareServer
import HTTPClient
import Logging
import Net
import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Connections through a proxy", .timeLimit(.minutes(1))) struct ProxyTests {
    private func client(
        _ endpoint: Endpoint,
        by proxy: ClientOptions.Proxy,
        _ change: (inout ClientOptions) -> Void = { _ in }
    ) -> Fanfare {
        var options = ClientOptions()
        options.network.proxy = proxy
        options.reconnection.attemptCountMax = 0
        change(&options)
        return Fanfare(key: "app-key", endpoint: endpoint, options: options)
    }

    /// Returns the reason a client cannot connect through this proxy.
    private func refusal(_ client: Fanfare) async -> String {
        client.connect()
        for await status in client.statuses() {
            guard case .failed(let error) = status else { continue }
            #expect(error.code == .proxyFailed, "\(error)")
            return error.reason
        }
        return ""
    }

    @Test func reachesABrokerPlainAndOverTLS() async throws {
        let (certificate, key) = try DevelopmentCertificate.make(hosts: ["localhost"])
        let folder = try Folder()
        var configuration = Configuration.development
        configuration.port = 0
        configuration.tlsPort = 0
        configuration.loops = 2
        configuration.certificates = [
            CertificateFiles(
                certificate: try folder.write(certificate, to: "certificate.pem"),
                key: try folder.write(key, to: "key.pem")
            )
        ]
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let server = try BrokerServer(configuration: configuration, log: log)
        let addresses = try await server.start()
        let (proxy, port) = try await ConnectProxy.start(.tunnels(authorization: "Basic dTpwOnc="))
        var requests = proxy.requests.makeAsyncIterator()
        for endpoint in [
            Endpoint.plain(host: "localhost", port: try #require(addresses.plain?.port)),
            .secure(host: "localhost", port: try #require(addresses.tls?.port)),
        ] {
            let client = client(
                endpoint,
                by: .http(host: "localhost", port: port, user: "u", password: "p:w")
            ) { $0.network.trust = .pem(certificate) }
            let channel = client.subscribe("a")
            client.connect()
            try await channel.waitUntilSubscribed()
            #expect(await requests.next() == "CONNECT localhost:\(endpoint.port)")
            client.disconnect()
        }
        while await server.connectionCount > 0 { await Task.yield() }
        await proxy.stop()
        await server.stop(within: .seconds(1))
    }

    @Test func carriesMuchInBothDirections() async throws {
        let (server, brokerPort) = try await ScriptedServer.start()
        let (proxy, port) = try await ConnectProxy.start()
        let client = client(
            .plain(host: "broker.test", port: brokerPort),
            by: .http(host: "127.0.0.1", port: port)
        )
        let events = client.channel("a").subscription().deliveries("e")
        client.connect()
        try await client.channel("a").waitUntilSubscribed()
        let filler = String(repeating: "x", count: 1000)
        for number in 0..<1000 {
            await server.send(
                .event(ReceivedEvent(name: "e", channel: "a", data: "\(number)\(filler)"))
            )
        }
        var expected = 0
        for try await case .event(let event, _) in events {
            #expect(event.data == "\(expected)\(filler)")
            expected += 1
            if expected == 1000 { break }
        }
        client.disconnect()
        await server.wait(for: .closed(code: 1000))
        await proxy.stop()
        await server.stop()
    }

    @Test func verifiesTheBrokerAndNotTheProxy() async throws {
        let (certificate, key) = try DevelopmentCertificate.make(hosts: ["localhost"])
        let context = try TLSContext.server([
            TLSCertificate(certificatePEM: certificate, keyPEM: key)
        ])
        let (server, brokerPort) = try await ScriptedServer.start(tls: context)
        let (proxy, port) = try await ConnectProxy.start()
        for (host, reason) in [("broker.test", "broker.test"), ("localhost", nil)] {
            let client = client(
                .secure(host: host, port: brokerPort),
                by: .http(host: "127.0.0.1", port: port)
            ) { $0.network.trust = .pem(certificate) }
            client.connect()
            for await status in client.statuses() {
                if case .failed(let error) = status {
                    guard error.code == .untrusted, let reason else {
                        Issue.record("\(error)")
                        break
                    }
                    #expect(error.reason.contains(reason))
                    break
                }
                if status.isConnected {
                    #expect(reason == nil)
                    break
                }
            }
            client.disconnect()
        }
        await proxy.stop()
        await server.stop()
    }

    @Test func reportsAdviceWhenTheProxyRefuses() async throws {
        let basic = "HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
        let long = String(repeating: "x", count: 20_000)
        let cases: [(ConnectProxy.Manner, [String])] = [
            (
                .answers(basic + "\r\n"),
                ["407", "set a user and a password in ClientOptions.network.proxy"]
            ),
            (.answers("HTTP/1.1 407 Who?\r\nContent-Length: 9999999\r\n\r\n"), ["407", "user"]),
            (
                .answers(
                    "HTTP/1.1 407 Who?\r\nProxy-Authenticate: NTLM\r\nProxy-Authenticate: Negotiate x\r\n\r\n"
                ),
                ["NTLM, Negotiate", "only Basic"]
            ),
            (.answers("HTTP/1.1 403 No\r\n\r\n"), ["403", "broker.test:6001", "operator"]),
            (
                .answers("HTTP/1.1 503 No\r\n\r\n"),
                ["503", "broker.test:6001", "as the proxy sees"]
            ),
            (.answers("HTTP/1.1 302 There\r\nLocation: /\r\n\r\n"), ["302", "HTTP proxy"]),
            (.answers("HTTP/1.1 101 Switching Protocols\r\n\r\n"), ["101"]),
            (
                .answers("SSH-2.0-OpenSSH_9.2\r\n\r\n"),
                ["did not answer with HTTP/1.1", "status line"]
            ),
            (.answers("HTTP/1.1 200 OK\nX: y\n\n\r\n\r\n"), ["did not answer with HTTP/1.1"]),
            (.answers(long), ["too long an answer", "8192"]),
            (.answers("HTTP/1.1 200 OK\r\nX: \(long)"), ["too long an answer", "16384"]),
            (
                .answers("HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 101)),
                ["too long an answer", "100"]
            ),
            (.answers("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 x\r\n"), ["data after its answer"]),
            (.ends("HTTP/1.1 200 OK\r\n"), ["ended the connection"]),
            (.ends(""), ["ended the connection"]),
        ]
        for (manner, words) in cases {
            let (proxy, port) = try await ConnectProxy.start(manner)
            for endpoint in [
                Endpoint.plain(host: "broker.test", port: 6001),
                .secure(host: "broker.test", port: 6001),
            ] {
                let reason = await refusal(
                    client(endpoint, by: .http(host: "127.0.0.1", port: port))
                )
                for word in words + ["the proxy http://127.0.0.1:\(port)"] {
                    #expect(reason.contains(word), "\(manner): \(reason)")
                }
            }
            await proxy.stop()
        }
    }

    @Test func neverRepeatsThePassword() async throws {
        let (proxy, port) = try await ConnectProxy.start(.tunnels(authorization: "Basic other"))
        let reason = await refusal(
            client(
                .plain(host: "broker.test", port: 6001),
                by: .http(
                    host: "127.0.0.1",
                    port: port,
                    user: "anna",
                    password: "secret"
                )
            )
        )
        #expect(reason.contains("does not accept the password of anna"), "\(reason)")
        #expect(!reason.contains("secret"))
        await proxy.stop()
    }

    @Test func continuesAfterAnInterimResponseInPieces() async throws {
        let (server, brokerPort) = try await ScriptedServer.start()
        var tunnel = try ProxyTunnel(
            by: ProxyAddress(host: "p", port: 1),
            to: "::1",
            brokerPort
        )
        #expect(
            String(decoding: tunnel.request, as: UTF8.self)
                == "CONNECT [::1]:\(brokerPort) HTTP/1.1\r\nHost: [::1]:\(brokerPort)\r\n\r\n"
        )
        let answer = Array("HTTP/1.1 103 Soon\r\n\r\nHTTP/1.1 200 OK\r\nVia: x\r\n\r\n".utf8)
        var (start, isOpened) = (0, false)
        for end in 1...answer.count {
            #expect(!isOpened)
            var position = 0
            isOpened = try tunnel.isOpened(by: answer[start..<end].span, at: &position)
            start += position
        }
        #expect(isOpened)
        await server.stop()
    }

    @Test func blamesTheProxyThatIsSilentOrNotThere() async throws {
        let (deaf, port) = try await ConnectProxy.start(.deaf)
        let reason = await refusal(
            client(
                .plain(host: "broker.test", port: 6001),
                by: .http(host: "127.0.0.1", port: port)
            ) { $0.network.connectTimeout = .seconds(3) }
        )
        #expect(reason.contains("did not answer within 2.0 seconds"), "\(reason)")
        await deaf.stop()
        await deaf.waitUntilStopped()
        for host in ["127.0.0.1", "no-such-host.invalid"] {
            let reason = await refusal(
                client(
                    .plain(host: "broker.test", port: 6001),
                    by: .http(host: host, port: port)
                )
            )
            #expect(reason.contains("cannot be reached"), "\(reason)")
        }
    }

    @Test func refusesValuesThatWouldBreakTheRequest() {
        let proxy = ProxyAddress(host: "p", port: 1)
        for host in ["a b", "a\r\nX: y", "ä.example"] {
            #expect(throws: ProxyTunnel.Refusal.self) {
                try ProxyTunnel(by: proxy, to: host, 80)
            }
        }
        let user = ProxyAddress(host: "p", port: 1, user: "a:b")
        #expect(throws: ProxyTunnel.Refusal.self) {
            try ProxyTunnel(by: user, to: "a", 80)
        }
    }
}
