import RESP
import Redis
import Testing

@Suite("Replies with damaged positions") struct DamagedReplyTests {
    private static let damaged = [
        "9007199254740992-1", "1-9007199254740992", "18446744073709551615-18446744073709551615",
        "1", "-1-1", "x",
    ]

    /// Reads a reply with each damaged position in the place of `P`.
    private func read<Reply>(
        _ reply: (_ position: String) -> String,
        _ read: (borrowing RESPView) -> Reply
    ) throws -> [Reply] {
        try Self.damaged.map { position in
            var parser = RESPParser()
            var index = 0
            var result: Reply?
            let bytes = Array(reply("$\(position.utf8.count)\r\n\(position)\r\n").utf8)
            _ = try parser.next(in: bytes.span, from: &index) { result = read($0) }
            return try #require(result)
        }
    }

    @Test("The newest one of an attachment is refused") func attachments() throws {
        let attachments = try read({ "*2\r\n*1\r\n*6\r\n:1\r\n:0\r\n\($0)_\r\n_\r\n*0\r\n:4\r\n" })
        {
            ChannelAttachment.all($0)
        }
        #expect(attachments.allSatisfy { $0 == nil })
    }

    @Test("That of a repeated message is refused") func repeated() throws {
        let outcomes = try read({ "*1\r\n\($0)" }) { PublishOutcome($0) }
        #expect(outcomes.allSatisfy { $0 == nil })
    }

    @Test("The newest ones of a comparison are marked") func positions() throws {
        let positions = try read({ "*3\r\n:7\r\n_\r\n\($0)" }) { StreamPositions($0) }
        #expect(positions.allSatisfy { $0?.isDamaged == true && $0?.newest == [nil, nil] })
    }
}
