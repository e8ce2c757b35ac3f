import Foundation
import TestProgram
import Testing

@Suite("fanfare trigger and listen: users", .timeLimit(.minutes(1))) struct UserCommandTests {
    @Test func aListenerSignsInAndShowsItsUsersEvents() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("fanfare.yaml")
        try """
        apps: [{id: 1, key: app-key, secret: a-secret, features: {watchlist: true}}]
        """.write(toFile: file, atomically: true, encoding: .utf8)
        let broker = try await RunningBroker(["--config", file])
        let secret = ["--secret", "a-secret", "--url", broker.url()]
        let ann = try RunningProgram(
            ["listen", "presence-room", "private-x", "--user", "ann", "--user-info", #"{"a":1}"#]
                + ["--watch", "bob", "--count", "7"] + secret
        )
        // The subscriptions are acknowledged in any order.
        var missing = [
            "signed in as ann", "subscribed to #server-to-user-ann",
            "subscribed to presence-room, 1 member: ann", "subscribed to private-x",
        ]
        for await line in ann.errors {
            missing.removeAll { line.contains($0) }
            if missing.isEmpty { break }
        }
        #expect(missing.isEmpty)
        let bob = try RunningProgram(
            ["listen", "presence-room", "--user", "bob"] + secret
        )
        #expect(
            await bob.errors.first(containing: "subscribed to presence-room, 2 members: ") != nil
        )
        for (arguments, output) in [
            (["trigger", "hi", "1", "--user", "ann"], "sent hi to user ann\n"),
            (
                ["trigger", "all", "2", "-c", "private-x", "--user", "ann"],
                "sent all to private-x (1 subscriber), user ann\n"
            ),
            // The listener ends after this event, and not before the count of the last one is read.
            (["trigger", "bye", "3", "--user", "ann"], "sent bye to user ann\n"),
        ] {
            let result = try await Program.run(arguments + secret)
            #expect(result.output == output, "\(result.errors)")
        }
        let lines = await ann.output.rest().map { String($0.dropFirst(9)) }
        #expect(
            Set(lines) == [
                #"pusher:watchlist_events {"offline":["bob"]}"#,
                #"pusher:watchlist_events {"online":["bob"]}"#,
                #"presence-room pusher:member_added {"user_id":"bob"}"#,
                "#server-to-user-ann hi 1", "private-x all 2", "#server-to-user-ann all 2",
                "#server-to-user-ann bye 3",
            ]
        )
        #expect(await ann.end() == 0)
    }

    @Test func aWrongSecretIsRefused() async throws {
        let broker = try await RunningBroker()
        let listener = try RunningProgram(
            ["listen", "--user", "ann", "--secret", "wrong", "--url", broker.url()]
        )
        #expect(await listener.errors.first(containing: "Invalid signature") != nil)
    }
}
