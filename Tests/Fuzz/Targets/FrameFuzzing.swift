import WebSocket

/// Frames without compression: the first byte chooses the side and the limits, the rest is the received stream.
enum FrameFuzzing {
    static func run(_ input: [UInt8]) throws(Finding) {
        var choices = Choices(input)
        let options = choices.byte()
        let role: Role = options & 1 == 0 ? .server : .client
        let limits = WebSocketLimits(
            messageLengthMax: [0, 1, 300, 70_000][Int(options >> 1 & 3)],
            fragmentCountMax: options & 8 == 0 ? 4 : 1_000
        )
        let stream = choices.remainder()
        let received = try receiveInAllCuts(of: stream, as: role, limits: limits)

        // Encoding and parsing the accepted messages again must give the same messages.
        let understood = received.filter { if case .failed = $0 { false } else { true } }
        let mask: UInt32? = role == .server ? UInt32(options) &* 0x0101_0203 : nil
        let again = understood.flatMap { $0.frame(mask: mask) }
        try expectEqual(
            try receive([again], as: role, limits: limits),
            understood,
            "encoded and received again"
        )
    }
}
