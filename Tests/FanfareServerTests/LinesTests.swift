import Net
import Testing

@testable import FanfareServer

@Suite("The lines between shards") struct LinesTests {
    @Test("What is said is heard in order, behind its dispatch and by whom it was said to")
    func areHeardInOrder() throws {
        let mailboxes = try (0..<3).map { _ in Mailbox<LineMessage>(wakes: try EventLoop()) }
        var speaker = Lines(of: 0, mailboxes: mailboxes)
        let hearer = Lines(of: 2, mailboxes: mailboxes)
        for inquiry in 1...3 { speaker.say(.answer([], inquiry: UInt64(inquiry)), to: 2) }
        #expect(hearer.read().isEmpty)
        speaker.dispatch()
        #expect(speaker.areBehind(limit: 2))
        #expect(hearer.read().map(inquiry) == [1, 2, 3])
        #expect(!speaker.areBehind(limit: 0))
        #expect(Lines(of: 1, mailboxes: mailboxes).read().isEmpty)
    }

    @Test("What is held up on its way is behind, and is heard where it is carried to")
    func canBeHeldUp() throws {
        let lines = try (0..<2).map { _ in Mailbox<LineMessage>(wakes: try EventLoop()) }
        let inbox = Mailbox<LineMessage>(wakes: try EventLoop())
        var speaker = Lines(of: 0, speakingInto: lines, hearing: lines[0])
        let hearer = Lines(of: 1, speakingInto: lines, hearing: inbox)
        speaker.say(.answer([], inquiry: 1), to: 1)
        speaker.dispatch()
        #expect(hearer.read().isEmpty)
        #expect(speaker.areBehind(limit: 0))
        inbox.post(lines[1].drain())
        #expect(hearer.read().map(inquiry) == [1])
    }

    private func inquiry(of message: LineMessage) -> InquiryID? {
        if case .answer(_, let inquiry) = message { inquiry } else { nil }
    }
}
