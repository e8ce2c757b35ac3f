import Testing

@testable import WebSocket

@Suite("Opening handshake of a client, RFC 6455 §4.1") struct ClientHandshakeTests {
    private static let nonce = bytes("'the sample nonce'")

    private func verify(
        _ handshake: ClientHandshake,
        status: Int = 101,
        _ changes: [String: [String]] = [:]
    ) throws(HandshakeFailure) -> ClientHandshake.Agreement {
        var fields = [
            "upgrade": ["websocket"], "connection": ["Upgrade"],
            "sec-websocket-accept": ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="],
        ]
        fields.merge(changes) { $1 }
        return try handshake.verify(status: status) { fields[$0] ?? [] }
    }

    private func handshake(
        subprotocols: [String] = [],
        deflate: DeflateOptions? = nil
    ) throws(HandshakeFailure) -> ClientHandshake {
        try ClientHandshake(
            host: "server.example.com",
            target: "/chat",
            nonce: Self.nonce,
            subprotocols: subprotocols,
            deflate: deflate
        )
    }

    @Test func theExampleOfSection1_2() throws {
        let handshake = try ClientHandshake(
            host: "server.example.com",
            target: "/chat",
            nonce: Self.nonce,
            origin: "http://example.com",
            subprotocols: ["chat", "superchat"],
            deflate: DeflateOptions(),
            fields: [HandshakeField("User-Agent", "test")]
        )
        #expect(
            String(decoding: handshake.request, as: UTF8.self) == """
                GET /chat HTTP/1.1\r
                Host: server.example.com\r
                Upgrade: websocket\r
                Connection: Upgrade\r
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
                Sec-WebSocket-Version: 13\r
                Origin: http://example.com\r
                Sec-WebSocket-Protocol: chat, superchat\r
                Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r
                User-Agent: test\r
                \r\n
                """
        )
        let agreement = try verify(handshake, ["sec-websocket-protocol": ["chat"]])
        #expect(agreement.subprotocol == "chat" && agreement.deflate == nil)
    }

    @Test(arguments: [
        ("upgrade", [], HandshakeFailure.upgrade), ("upgrade", ["h2c"], .upgrade),
        ("upgrade", ["websocket", "websocket"], .upgrade), ("connection", [], .connection),
        ("connection", ["close"], .connection), ("sec-websocket-accept", [], .accept),
        ("sec-websocket-accept", ["s3pPLMBiTxaQ9kYGzzhZRbK+xOO="], .accept),
        ("sec-websocket-accept", ["S3PPLMBITXAQ9KYGZZHZRBK+XOO="], .accept),
        ("sec-websocket-protocol", ["mqtt"], .subprotocol("mqtt")),
        ("sec-websocket-protocol", ["chat", "chat"], .subprotocol("chat, chat")),
        ("sec-websocket-extensions", ["permessage-deflate"], .extensions("permessage-deflate")),
        ("sec-websocket-extensions", ["foo"], .extensions("foo")),
        ("sec-websocket-extensions", ["="], .malformedExtensions),
    ])
    func refuses(_ field: String, _ values: [String], failure: HandshakeFailure) throws {
        let handshake = try handshake(subprotocols: ["chat"])
        #expect(throws: failure) { try verify(handshake, [field: values]) }
        #expect(failure.description.hasSuffix("."))
    }

    @Test(arguments: [100, 200, 301, 400, 401, 403, 426, 503])
    func refusesOtherStatuses(_ status: Int) throws {
        let handshake = try handshake()
        #expect(throws: HandshakeFailure.status(status)) { try verify(handshake, status: status) }
    }

    @Test func acceptsOtherCasesOfUpgradeAndConnection() throws {
        _ = try verify(
            try handshake(),
            ["upgrade": ["WebSocket"], "connection": ["keep-alive, UPGRADE"]]
        )
    }

    @Test func malformedValuesAreNotSent() throws {
        func failure(
            host: String = "a",
            target: String = "/",
            origin: String? = nil,
            _ field: HandshakeField? = nil,
            subprotocols: [String] = []
        ) -> HandshakeFailure? {
            do throws(HandshakeFailure) {
                _ = try ClientHandshake(
                    host: host,
                    target: target,
                    nonce: Self.nonce,
                    origin: origin,
                    subprotocols: subprotocols,
                    fields: field.map { [$0] } ?? []
                )
                return nil
            } catch {
                return error
            }
        }
        #expect(failure() == nil)
        #expect(failure(host: "a\r\nX: y") == .unsendable("Host"))
        #expect(failure(target: "/a b") == .unsendable("target"))
        #expect(failure(target: "/\r\n") == .unsendable("target"))
        #expect(failure(target: "a") == .unsendable("target"))
        #expect(failure(origin: "\n") == .unsendable("Origin"))
        #expect(failure(HandshakeField("X-A", "b\u{0}")) == .unsendable("X-A"))
        #expect(failure(HandshakeField("X A", "b")) == .unsendable("X A"))
        #expect(failure(HandshakeField("", "b")) == .unsendable(""))
        for names in [["a", "a"], ["a,b"], [""], ["a b"]] {
            #expect(failure(subprotocols: names) == .unsendable("Sec-WebSocket-Protocol"))
        }
    }

    @Test("Responses that fit an offer of compression (RFC 7692 §7.1)")
    func acceptsDeflate() throws {
        func agreed(_ response: String, _ options: DeflateOptions) throws -> NegotiatedDeflate? {
            let handshake = try handshake(deflate: options)
            return try verify(handshake, ["sec-websocket-extensions": [response]]).deflate
        }
        let plain = try agreed("permessage-deflate", DeflateOptions())
        #expect(plain?.serverMaxWindowBits == 15 && plain?.clientMaxWindowBits == 15)
        let narrow = try agreed(
            "permessage-deflate; server_max_window_bits=9; client_max_window_bits=\"8\"",
            DeflateOptions(serverMaxWindowBits: 10)
        )
        #expect(narrow?.serverMaxWindowBits == 9 && narrow?.clientMaxWindowBits == 8)
        let forgetful = try agreed(
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
            DeflateOptions()
        )
        #expect(forgetful?.serverNoContextTakeover == true)
        #expect(forgetful?.clientNoContextTakeover == true)
        // The client's own parameters apply although the server does not repeat them.
        let own = try agreed(
            "permessage-deflate",
            DeflateOptions(clientNoContextTakeover: true, clientMaxWindowBits: 9)
        )
        #expect(own?.clientNoContextTakeover == true && own?.clientMaxWindowBits == 9)
    }

    @Test(
        "Responses that do not fit the offer",
        arguments: [
            "permessage-deflate; server_max_window_bits=11; server_no_context_takeover",
            "permessage-deflate; server_no_context_takeover",
            "permessage-deflate; server_max_window_bits=10",
            "permessage-deflate; server_max_window_bits=10; server_no_context_takeover; "
                + "client_max_window_bits",
            "permessage-deflate; server_max_window_bits=10; server_no_context_takeover; "
                + "client_max_window_bits=13",
            "permessage-deflate; server_max_window_bits=10; server_no_context_takeover; x",
            "permessage-deflate; server_max_window_bits=10; server_no_context_takeover, x",
            "permessage-deflate; server_max_window_bits=10; server_no_context_takeover=1",
        ]
    )
    func refusesDeflate(_ response: String) throws {
        let handshake = try handshake(
            deflate: DeflateOptions(
                serverNoContextTakeover: true,
                serverMaxWindowBits: 10,
                clientMaxWindowBits: 12
            )
        )
        #expect(throws: HandshakeFailure.extensions(response)) {
            try verify(handshake, ["sec-websocket-extensions": [response]])
        }
    }

    @Test func bothSidesAgree() throws {
        var options: [DeflateOptions] = []
        for bits in [8, 9, 12, 15] {
            for forgets in [false, true] {
                options.append(
                    DeflateOptions(
                        serverNoContextTakeover: forgets,
                        clientNoContextTakeover: !forgets,
                        serverMaxWindowBits: bits,
                        clientMaxWindowBits: 23 - bits
                    )
                )
            }
        }
        for offered in options {
            for wanted in options {
                let offer = offered.offer
                let response = wanted.response(to: offer)
                #expect(offered.isAnswered(by: response), "\(offer) \(response)")
                #expect(
                    offered.negotiated(response, role: .client)
                        == wanted.negotiated(response, role: .server)
                )
                let read = ExtensionElement.parse([response.text])?.first
                #expect(read.flatMap { DeflateParameters($0) } == response)
            }
        }
    }
}
