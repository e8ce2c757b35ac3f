import Redis
import Testing

@Suite("Published announcements") struct AnnouncementTests {
    @Test(
        arguments: [
            ("7 e 1.2 99 {\"a\": 1}", 7, "1.2", .event(Array("{\"a\": 1}".utf8))),
            ("0 c - 99 ", 0, nil, .clientEvent([])),
            ("0 + - 99 3 a b{}", 0, nil, .memberAdded(user: "a b", info: Array("{}".utf8))),
            ("0 + - 99 2 é", 0, nil, .memberAdded(user: "é", info: [])),
            ("0 - - 99 a b ", 0, nil, .memberRemoved(user: "a b ")),
            ("0 # - 99 12", 0, nil, .count(12)),
            ("0 ! - 99 100 first", 0, nil, .stream(100, .first)),
            ("0 ! - 99 100 epoch", 0, nil, .stream(100, .epoch)),
            ("0 ! - 99 100 purge", 0, nil, .stream(100, .purge)),
        ] as [(String, UInt64, String?, ChannelAnnouncement.Content)]
    )
    func areParsed(
        text: String,
        serial: UInt64,
        except: String?,
        content: ChannelAnnouncement.Content
    ) {
        let announcement = ChannelAnnouncement(Array(text.utf8))
        #expect(announcement?.serial == serial && announcement?.time == 99)
        #expect(announcement?.except == except)
        #expect(announcement?.content == content)
    }

    @Test(arguments: [
        "", "1 e - 99", "x e - 99 a", "1 e - x a", "1 ? - 99 a", "0 # - 99 x", "0 ! - 99 100",
        "0 ! - 99 100 other", "0 + - 99 a", "0 + - 99 4 abc", "0 + - 99 -1 abc", "0 + - 99 1",
    ])
    func areRefused(text: String) { #expect(ChannelAnnouncement(Array(text.utf8)) == nil) }

    @Test func ofUsersAndNodesAreParsed() {
        #expect(UserAnnouncement(Array("online 1".utf8)) == .online(at: 1))
        #expect(UserAnnouncement(Array("offline 2".utf8)) == .offline(at: 2))
        #expect(UserAnnouncement(Array("terminate 3".utf8)) == .terminate(at: 3))
        for text in ["", "online", "online x", "other 1", "online 1 2"] {
            #expect(UserAnnouncement(Array(text.utf8)) == nil)
        }
        for text in [
            "", "yield 1:t", "yield 1 1.2", "yield 1:t 1.2", "yield 1:t 1.2 x",
            "yield 1:t 1.2 -1", "yielded 1:t 1.2", "x 1:t 1.2",
        ] {
            #expect(InboxMessage(Array(text.utf8)) == nil)
        }
    }
}
