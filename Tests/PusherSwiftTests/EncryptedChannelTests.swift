import FanfareAPI
import FanfareEncryption
import FanfareTesting
import Foundation
import PusherSwift
import Testing

@Suite("PusherSwift: encrypted channels", .timeLimit(.minutes(1))) @MainActor
struct EncryptedChannelTests {
    /// Authorises every request, with the current key.
    private final class Keeper: Authorizer {
        var masterKey = MasterKey.random()
        var asked = 0
        func fetchAuthValue(
            socketID: String,
            channelName: String,
            completionHandler: @escaping (PusherAuth?) -> Void
        ) {
            asked += 1
            let secret = masterKey.sharedSecret(of: channelName)
            completionHandler(PusherAuth(auth: "any", sharedSecret: secret))
        }
    }

    @Test func areReadAndTheirKeysRenewed() async throws {
        let broker = ScriptedBroker()
        let keeper = Keeper()
        let notes = DelegateNotes()
        let pusher = Pusher(
            key: "app-key",
            options: broker.options(.authorizer(authorizer: keeper))
        )
        pusher.delegate = notes
        let name = "private-encrypted-a"
        var seen: [String] = []
        let channel = pusher.subscribe(name)
        #expect(channel.type == .private)
        channel.bind(eventName: "e") { (event: PusherEvent) in seen.append(event.data ?? "") }
        channel.bind(
            eventName: "e",
            callback: { (data: Any?) -> Void in
                if let data = data as? [String: AnyObject], let n = data["n"] as? Int {
                    seen.append("\(n)")
                }
            }
        )
        pusher.connect()
        try await broker.waitForSubscribers(to: name)
        func trigger(_ text: String, sealedBy key: MasterKey) throws {
            try broker.trigger("e", on: [name], text: key.seal(text, on: name))
        }
        try trigger(#"{"n":1}"#, sealedBy: keeper.masterKey)
        try await broker.wait(for: "the first event") { seen.count == 2 }
        // A new key is requested; later events wait.
        keeper.masterKey = .random()
        try trigger(#"{"n":2}"#, sealedBy: keeper.masterKey)
        try trigger(#"{"n":3}"#, sealedBy: keeper.masterKey)
        try await broker.wait(for: "the others") { seen.count == 6 }
        #expect(seen == [#"{"n":1}"#, "1", #"{"n":2}"#, "2", #"{"n":3}"#, "3"])
        #expect(keeper.asked == 2)
        // Without a matching key, one request is sent and the event is skipped.
        try trigger("lost", sealedBy: .random())
        try await broker.wait(for: "the delegate to hear of it") { !notes.undecrypted.isEmpty }
        #expect(notes.undecrypted.first?.hasPrefix("e private-encrypted-a {") == true)
        #expect(seen.count == 6)
    }
}
