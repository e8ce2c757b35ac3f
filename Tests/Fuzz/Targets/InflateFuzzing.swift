import WebSocket

/// permessage-deflate: the first byte chooses the side and the window, the second the limit and the form of the rest:
/// frames, or the deflate streams of whole messages.
enum InflateFuzzing {
    static func run(_ input: [UInt8]) throws(Finding) {
        var choices = Choices(input)
        let options = choices.byte()
        let role: Role = options & 1 == 0 ? .server : .client
        let deflate = DeflateOptions(
            serverNoContextTakeover: options & 2 != 0,
            clientNoContextTakeover: options & 4 != 0,
            serverMaxWindowBits: 8 + Int(options >> 4 & 7),
            clientMaxWindowBits: 8 + Int(options >> 4 & 7),
            compressionThreshold: 0
        )
        let form = choices.byte()
        let limits = WebSocketLimits(
            messageLengthMax: [1, 300, 5_000, 100_000][Int(form & 3)],
            fragmentCountMax: 8
        )
        let stream = form & 4 == 0 ? choices.remainder() : frames(&choices, role)
        let agreed = try Agreement(deflate).of(role)
        _ = try receiveInAllCuts(
            of: stream,
            as: role,
            limits: limits,
            compression: agreed,
            mayExceedWindow: options >> 4 & 7 < 7
        )
    }

    /// Wraps each deflate stream in one frame, so that only the streams are fuzzed.
    private static func frames(_ choices: inout Choices, _ role: Role) -> [UInt8] {
        var stream: [UInt8] = []
        while !choices.isEmpty {
            let isText = choices.bool()
            let payload = choices.bytes()
            FrameEncoder.append(
                isText ? .text : .binary,
                isCompressed: true,
                payload: payload.span,
                mask: role == .server ? 0x5A5A_5A5A : nil,
                to: &stream
            )
        }
        return stream
    }
}

/// The agreed compression of both sides of a handshake.
struct Agreement {
    private let server: NegotiatedDeflate
    private let client: NegotiatedDeflate

    /// Performs a handshake between sides with the same options.
    init(_ options: DeflateOptions) throws(Finding) {
        try self.init(server: options, client: options)
    }

    /// Performs a handshake between sides with different options, which must succeed.
    init(server: DeflateOptions, client: DeflateOptions) throws(Finding) {
        do {
            let handshake = try ClientHandshake(
                host: "localhost",
                target: "/",
                nonce: Array(1...16),
                deflate: client
            )
            let fields = HeadLines(handshake.request)
            let acceptance = try ServerHandshake(deflate: server)
                .accept(method: "GET", minorVersion: 1) { fields.values($0) }
            let answer = HeadLines(acceptance.response)
            let agreement = try handshake.verify(status: 101) { answer.values($0) }
            guard let client = agreement.deflate, let server = acceptance.deflate else {
                throw Finding(description: "\(client) and \(server) have no common options")
            }
            (self.server, self.client) = (server, client)
        } catch let finding as Finding {
            throw finding
        } catch {
            throw Finding(description: "\(client) and \(server) do not agree: \(error)")
        }
    }

    /// The agreement of one side.
    func of(_ role: Role) -> NegotiatedDeflate { role == .server ? server : client }
}
