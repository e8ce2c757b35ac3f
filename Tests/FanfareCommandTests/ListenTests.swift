@testable import FanfareClient
import Foundation
import TestProgram
import Testing

@testable import fanfare

@Suite("fanfare listen: output") struct ListenTextTests {
    let event = ChannelEvent(name: "addUser", channel: "userslist", data: #"{"id": 1}"#)
    let time = Date(timeIntervalSince1970: 1_795_253_603.042)

    @Test func anEventIsALine() {
        let line = EventLine(isJSON: false, isColored: false).text(event, at: time)
        // The time is local; the time zone is unknown.
        #expect(line.dropFirst(8) == #" userslist addUser {"id": 1}"#)
        #expect(line.prefix(8).contains(/^\d\d:\d\d:23$/))
    }

    @Test func aSenderIsNamed() {
        let event = ChannelEvent(name: "client-x", channel: "presence-a", data: nil, userID: "7")
        let line = EventLine(isJSON: false, isColored: false).text(event, at: time)
        #expect(line.dropFirst(8) == " presence-a client-x (7)")
    }

    @Test func coloursSurroundWords() {
        let line = EventLine(isJSON: false, isColored: true).text(event, at: time)
        #expect(
            line.hasSuffix(
                "\u{1B}[0m \u{1B}[36muserslist\u{1B}[0m \u{1B}[1maddUser\u{1B}[0m {\"id\": 1}"
            )
        )
    }

    @Test func controlCharactersAreEscaped() {
        let event = ChannelEvent(name: "a\u{1B}[2J", channel: "c\r", data: "x\ny\u{202E}z")
        let line = EventLine(isJSON: false, isColored: false).text(event, at: time)
        #expect(line.dropFirst(8) == #" c\r a\u{1b}[2J x\ny\u{202e}z"#)
    }

    @Test func jsonIsOneObject() {
        let line = EventLine(isJSON: true, isColored: true).text(event, at: time)
        #expect(
            line == #"{"time":"2026-11-21T09:33:23.042Z","channel":"userslist","event":"addUser","#
                + #""data":"{\"id\": 1}"}"#
        )
    }

    @Test func connectionStates() throws {
        let endpoint = try Endpoint("ws://127.0.0.1:6001")
        func text(_ status: ConnectionStatus) -> String? {
            StatusLine.text(status, endpoint: endpoint)
        }
        #expect(text(.connecting(attempt: 1)) == "connecting to ws://127.0.0.1:6001 …")
        #expect(text(.connecting(attempt: 3)) == "connecting to ws://127.0.0.1:6001, attempt 3 …")
        #expect(text(.connected(socketID: "1.2")) == "connected as 1.2")
        #expect(
            text(.waiting(delay: .milliseconds(1_549), because: .closed(code: 4200, reason: "")))
                == "the connection was closed with code 4200; the next attempt is in 1.5 s"
        )
        #expect(text(.disconnected) == nil)
        // The command ends with the error, which is reported once.
        #expect(text(.failed(because: .disconnected)) == nil)
    }

    @Test func theLimitIsReachedOnce() {
        let three = RemainingEvents(limit: 3)
        #expect((0..<5).map { _ in three.consume() } == [false, false, true, false, false])
        #expect(three.isEmpty)
        let endless = RemainingEvents(limit: nil)
        #expect((0..<5).map { _ in endless.consume() }.allSatisfy { !$0 })
        #expect(!endless.isEmpty)
    }

    @Test(arguments: [
        ["listen"], ["listen", "news", "--count", "0"], ["listen", "news", "--url", "127.0.0.1"],
        ["listen", "news", "--trust", "f", "--insecure"], ["listen", "presence-x"],
        ["listen", "news", "--watch", "bob"], ["listen", "news", "--user-info", "{}"],
        ["listen", "--user", "a b"], ["listen", "--user", "ann", "--user-info", "{"],
    ])
    func invalidOptionsAreRejected(arguments: [String]) async throws {
        let result = try await Program.run(arguments)
        #expect(result.code == 64)
        #expect(result.errors.contains("Usage: fanfare listen"))
    }

    @Test(arguments: [
        (
            ChannelEvent(name: "pusher:subscription_succeeded", channel: "news\n", data: "{}"),
            #"subscribed to news\n"#
        ),
        (
            ChannelEvent(
                name: "pusher:subscription_succeeded",
                channel: "presence-x",
                data: #"{"presence":{"ids":["ann","bob"],"hash":{},"count":2}}"#
            ),
            "subscribed to presence-x, 2 members: ann, bob"
        ),
        (
            ChannelEvent(
                name: "pusher:signin_success",
                channel: nil,
                data: #"{"user_data":"{\"id\":\"ann\"}"}"#
            ),
            "signed in as ann"
        ),
        (ChannelEvent(name: "pusher:member_added", channel: "presence-x", data: "{}"), nil),
    ])
    func protocolEventsAreReported(event: ChannelEvent, line: String?) {
        #expect(ProtocolLine.text(event) == line)
        #expect(ProtocolLine.isConnectionEvent(event) == (line != nil))
    }
}
