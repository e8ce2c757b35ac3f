import HTTPClient
import Net
import Testing

@testable import FanfareClient

@Suite("Connections to an app's backend", .timeLimit(.minutes(1)))
struct AuthorizationConnectionTests {
    private let request = AuthorizationRequest(socketID: "1.2", channels: ["private-a"])

    private func terms(
        trust: ClientOptions.Trust = .system,
        proxy: ClientOptions.Proxy = .system,
        timeout: Duration = .seconds(10)
    ) -> BackendSettings {
        BackendSettings(timeout: timeout, trust: trust, proxy: proxy)
    }

    /// Returns the reason a request failed; `nil` if it succeeded.
    private func fault(
        _ endpoint: AuthorizationEndpoint,
        _ terms: BackendSettings
    ) async throws -> String? {
        do {
            _ = try await EndpointHTTPClient(endpoint).authorize(request, terms)
            return nil
        } catch let failure as AuthorizationFailure {
            return failure.description
        }
    }

    /// Returns a backend with TLS, and its certificate.
    private static func secure() throws -> (SigningBackend, certificate: [UInt8]) {
        let (certificate, key) = try DevelopmentCertificate.make(hosts: ["localhost"])
        let tls = try TLSContext.server([
            TLSCertificate(certificatePEM: certificate, keyPEM: key)
        ])
        return (try SigningBackend(user: "ann", tls: tls), certificate)
    }

    @Test("Requests use the client's proxy and keep the tunnel open")
    func leadsByTheClientsProxy() async throws {
        let plain = try SigningBackend(user: "ann")
        let (secure, certificate) = try Self.secure()
        let (proxy, port) = try await ConnectProxy.start(.tunnels(authorization: "Basic dTpw"))
        var asked = proxy.requests.makeAsyncIterator()
        let terms = terms(
            trust: .pem(certificate),
            proxy: .http(
                host: "localhost",
                port: port,
                user: "u",
                password: "p"
            )
        )
        for (scheme, backend) in [("http", plain), ("https", secure)] {
            let url = "\(scheme)://localhost:\(backend.port)/auth"
            let line = EndpointHTTPClient(AuthorizationEndpoint(url))
            for _ in 0..<3 {
                let answer = try await line.authorize(request, terms)
                #expect(answer.keys.first == "private-a")
            }
            #expect(backend.requests.count == 3)
            // One CONNECT request: the next one is for the other backend.
            #expect(await asked.next() == "CONNECT localhost:\(backend.port)")
        }
        await proxy.stop()
        await plain.stop()
        await secure.stop()
    }

    @Test func isRefusedByAProxyInItsWords() async throws {
        let backend = try SigningBackend(user: "ann")
        let cases: [(ConnectProxy.Manner, String)] = [
            (.tunnels(authorization: "Basic dTpw"), "requires authentication"),
            (.answers("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"), "does not allow a tunnel"),
            (.answers("hello\r\n\r\n"), "did not answer with HTTP/1.1"),
            (.ends(""), "ended the connection instead of answering"),
        ]
        for (manner, words) in cases {
            let (proxy, port) = try await ConnectProxy.start(manner)
            let fault = try await fault(
                AuthorizationEndpoint(backend.url("/auth")),
                terms(proxy: .http(host: "127.0.0.1", port: port))
            )
            #expect(fault?.contains(words) == true, "\(String(describing: fault))")
            #expect(fault?.contains("http://127.0.0.1:\(port)") == true)
            await proxy.stop()
        }
        #expect(backend.requests.isEmpty)
        await backend.stop()
    }

    @Test func timesOutAtASilentProxy() async throws {
        let backend = try SigningBackend(user: "ann")
        let (proxy, port) = try await ConnectProxy.start(.deaf)
        let fault = try await fault(
            AuthorizationEndpoint(backend.url("/auth")),
            terms(
                proxy: .http(host: "127.0.0.1", port: port),
                timeout: .milliseconds(200)
            )
        )
        #expect(fault?.contains("0.2 seconds") == true, "\(String(describing: fault))")
        await proxy.stop()
        await backend.stop()
    }

    @Test("The client's pins apply, through a proxy too")
    func isHeldToTheClientsPins() async throws {
        let (backend, certificate) = try Self.secure()
        let other = try DevelopmentCertificate.make(hosts: ["localhost"]).certificatePEM
        let (own, spare) = (
            try KeyPin(certificate: certificate), try KeyPin(certificate: other)
        )
        let (proxy, port) = try await ConnectProxy.start()
        let endpoint = AuthorizationEndpoint("https://localhost:\(backend.port)/auth")
        let trusted = ClientOptions.Trust.pem(certificate)
        for way: ClientOptions.Proxy in [
            .none, .http(host: "127.0.0.1", port: port),
        ] {
            func fault(_ trust: ClientOptions.Trust) async throws -> String? {
                try await self.fault(endpoint, terms(trust: trust, proxy: way))
            }
            #expect(try await fault(trusted.pinned(to: [own, spare])) == nil)
            #expect(try await fault(.insecure.pinned(to: [own])) == nil)
            for trust in [trusted, .insecure] {
                let reason = try await fault(trust.pinned(to: [spare]))
                let says = reason?.contains("not pinned, it is \(own)")
                #expect(says == true, "\(String(describing: reason))")
            }
            let reason = try await fault(.system)
            #expect(reason?.contains("certificate") == true, "\(String(describing: reason))")
        }
        #expect(backend.requests.count == 4)
        await proxy.stop()
        await backend.stop()
    }

    @Test func usesTheEndpointsOwnSettings() async throws {
        let (backend, certificate) = try Self.secure()
        let (proxy, port) = try await ConnectProxy.start(.ends(""))
        let endpoint = AuthorizationEndpoint(
            "https://localhost:\(backend.port)/auth",
            trust: .pem(certificate),
            proxy: ClientOptions.Proxy.none
        )
        let spare = try KeyPin("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
        let terms = terms(
            trust: .system.pinned(to: [spare]),
            proxy: .http(host: "127.0.0.1", port: port)
        )
        #expect(try await fault(endpoint, terms) == nil)
        #expect(backend.requests.count == 1)
        await proxy.stop()
        await backend.stop()
    }

    @Test func failsWithInvalidTrust() async throws {
        let endpoint = AuthorizationEndpoint("https://localhost:1/auth")
        let reason = try await fault(endpoint, terms(trust: .file("/nowhere.pem")))
        #expect(
            reason?.contains("/nowhere.pem cannot be read") == true,
            "\(String(describing: reason))"
        )
    }
}
