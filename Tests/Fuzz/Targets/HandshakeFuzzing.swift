import HTTP1
import WebSocket

/// The opening handshake: the first byte chooses the side, the second its options.
///
/// The rest are the other side's fields, one on each line, or, for a client's own request, its host, target and a
/// field.
enum HandshakeFuzzing {
    private static let nonce: [UInt8] = Array(1...16)

    static func run(_ input: [UInt8]) throws(Finding) {
        var choices = Choices(input)
        let side = choices.index(below: 3)
        let options = choices.byte()
        let deflate = deflateOptions(options)
        let lines = HeadLines([0x0A] + choices.remainder())
        switch side {
        case 0: try serve(lines, ServerHandshake(subprotocols: ["chat", "v2"], deflate: deflate))
        case 1: try validate(lines, deflate, takesRightKey: options & 0x80 == 0)
        default: try encodeRequest(lines, deflate)
        }
    }

    private static func deflateOptions(_ byte: UInt8) -> DeflateOptions? {
        guard byte & 1 == 0 else { return nil }
        return DeflateOptions(
            serverNoContextTakeover: byte & 2 != 0,
            clientNoContextTakeover: byte & 4 != 0,
            serverMaxWindowBits: byte & 8 == 0 ? 15 : 10,
            clientMaxWindowBits: byte & 16 == 0 ? 15 : 9
        )
    }

    /// A server and any request: both ways of passing the fields must be equal, and the answer must be consistent.
    private static func serve(_ lines: HeadLines, _ handshake: ServerHandshake) throws(Finding) {
        let byName = Result { () throws(HandshakeRefusal) in
            try handshake.accept(
                method: "GET",
                minorVersion: 1,
                fields: { lines.values($0) }
            )
        }
        let lent = Result { () throws(HandshakeRefusal) in
            try handshake.accept(
                method: "GET",
                minorVersion: 1,
                forEachField: { take in
                    for field in lines.fields {
                        let (name, value) = (field.name.utf8, field.value.utf8)
                        take(name.span, value.span)
                    }
                }
            )
        }
        try expectEqual(lent, byName, "fields lent in order, and by name")
        let accepted: ServerHandshake.Acceptance
        switch byName {
        case .success(let acceptance): accepted = acceptance
        case .failure(let refusal):
            return try expect(400..<500 ~= refusal.status, "\(refusal) has \(refusal.status)")
        }
        let answer = HeadLines(accepted.response)
        try expect(answer.startLine == "HTTP/1.1 101 Switching Protocols", "\(answer.startLine)")
        let fields = answer.fields.map { HandshakeField($0.name, $0.value) }
        try expectEqual(fields, accepted.fields, "the fields of the answer")
        if let agreed = accepted.deflate {
            try expect(8...15 ~= agreed.serverMaxWindowBits, "\(agreed)")
            try expect(8...15 ~= agreed.clientMaxWindowBits, "\(agreed)")
            try expect(handshake.deflate != nil, "compression without the server's consent")
        }
        if let name = accepted.subprotocol {
            try expect(handshake.subprotocols.contains(name), "subprotocol \(name)")
        }
    }

    /// A client and any answer: only the right `Sec-WebSocket-Accept` opens the connection, and only offered extensions
    /// are accepted.
    private static func validate(
        _ lines: HeadLines,
        _ deflate: DeflateOptions?,
        takesRightKey: Bool
    ) throws(Finding) {
        let handshake: ClientHandshake
        do {
            handshake = try ClientHandshake(
                host: "localhost",
                target: "/",
                nonce: nonce,
                subprotocols: ["chat"],
                deflate: deflate
            )
        } catch {
            throw Finding(description: "a plain request cannot be sent: \(error)")
        }
        let proof = try rightProof(handshake)
        let agreement = try? handshake.verify(status: 101) { name in
            takesRightKey && name == "sec-websocket-accept" ? [proof] : lines.values(name)
        }
        guard let agreement else { return }
        if !takesRightKey {
            try expectEqual(lines.values("sec-websocket-accept"), [proof], "the proof of the key")
        }
        try expect(agreement.subprotocol.map { $0 == "chat" } ?? true, "\(agreement)")
        guard let agreed = agreement.deflate else { return }
        guard let deflate else { throw Finding(description: "\(agreed) was not offered") }
        try expect(8...deflate.serverMaxWindowBits ~= agreed.serverMaxWindowBits, "\(agreed)")
        try expect(8...deflate.clientMaxWindowBits ~= agreed.clientMaxWindowBits, "\(agreed)")
        try expect(
            agreed.serverNoContextTakeover || !deflate.serverNoContextTakeover,
            "the server may exceed this side's window"
        )
    }

    private static func rightProof(_ handshake: ClientHandshake) throws(Finding) -> String {
        let request = HeadLines(handshake.request)
        let answer = try? ServerHandshake()
            .accept(method: "GET", minorVersion: 1, fields: { request.values($0) })
        guard let answer else { throw Finding(description: "a plain request is refused") }
        return HeadLines(answer.response).values("sec-websocket-accept")[0]
    }

    /// A client's own request of any parts is refused, or is one request with exactly these fields.
    private static func encodeRequest(_ lines: HeadLines, _ deflate: DeflateOptions?)
        throws(Finding)
    {
        let host = lines.values("host").first ?? "localhost"
        let target = lines.values("target").first ?? "/"
        let others = lines.fields.filter { !["host", "target"].contains($0.name.lowercased()) }
        let fields = others.map { HandshakeField($0.name, $0.value) }
        let handshake = try? ClientHandshake(
            host: host,
            target: target,
            nonce: nonce,
            origin: lines.values("origin").first,
            deflate: deflate,
            fields: fields
        )
        guard let request = handshake?.request else { return }
        // No value may result in two requests, or additional fields.
        let sent = HeadLines(request)
        let lineEnds = request.count { $0 == 0x0A }
        try expectEqual(lineEnds, sent.fields.count + 2, "the lines of a request")
        try expectEqual(sent.startLine, "GET \(target) HTTP/1.1", "the first line")
        var parser = RequestParser()
        var index = 0
        // The server refuses an invalid or repeated host.
        guard case .head(let head)? = try? parser.advance(over: request.span, from: &index) else {
            return
        }
        try expectEqual(index, request.count, "the end of the head")
        try expectEqual(head.target, target, "the target")
        try expectEqual(head.fieldCount, sent.fields.count, "the number of fields")
    }
}
