import Foundation
import Testing

@testable import FanfareClient
@testable import PusherSwift

@Suite("PusherSwift: payloads of the older API") struct LegacyPayloadTests {
    private let payload = LegacyPayload(attemptsJSON: true)

    @Test func isAnObjectThatPassesTheCastsOfApps() throws {
        let value = payload.value(of: #"{"name":"Ann","index":3,"src":3.0,"ok":true,"list":[1]}"#)
        let object = try #require(value as? [String: AnyObject])
        #expect(object["name"] as? String == "Ann")
        #expect(object["index"] as? Int == 3)
        #expect(object["src"] as? Int == 3)
        #expect(object["ok"] as? Bool == true)
        #expect(object["list"] as? [Int] == [1])
        #expect(object["gone"] as? String == nil)
        #expect(payload.value(of: #"[{"id":1}]"#) as? [NSDictionary] == [["id": 1]])
    }

    @Test func hasReplacementCharactersForTextThatWasCutInsideAnEmoji() throws {
        let object = try #require(payload.value(of: #"{"a":"\ud83d!"}"#) as? [String: AnyObject])
        #expect(object["a"] as? String == "\u{FFFD}!")
        let member = PusherPresenceChannelMember(
            PresenceMember(id: "u", info: #"{"name":"\ud83d"}"#)
        )
        #expect((member.userInfo as? [String: String]) == ["name": "\u{FFFD}"])
    }

    @Test func isTextUnlessAnObjectOrArray() {
        for text in ["", "hello", #""quoted""#, "5", "null", "true", "{", #"{"a":}"#, "[1,"] {
            #expect(payload.value(of: text) as? String == text)
        }
    }

    @Test func isNilWithoutData() {
        #expect(payload.value(of: nil) == nil)
    }

    @Test func isParsedByAConnection() {
        let connection = Pusher(key: "k").connection
        #expect((connection.getEventDataJSON(from: "[1]") as? [Int]) == [1])
        #expect((connection.getEventDataJSON(from: "text") as? String) == "text")
        let event = connection.getPusherEventJSON(from: #"{"event":"e","data":"1"}"#)
        #expect(event?["event"] as? String == "e")
        #expect(connection.getPusherEventJSON(from: "[1]") == nil)
    }

    @Test func isTheTextWhenNotToBeParsed() {
        let plain = LegacyPayload(attemptsJSON: false)
        #expect(plain.value(of: #"{"a":1}"#) as? String == #"{"a":1}"#)
        #expect(plain.value(of: nil) == nil)
    }
}

@Suite("PusherSwift: options and names") struct OptionsTests {
    @Test func haveTheDefaultsOfTheOfficialClient() {
        let options = PusherClientOptions()
        #expect(options.host == "ws.pusherapp.com")
        #expect(options.port == 443)
        #expect(options.useTLS && options.autoReconnect && options.attemptToReturnJSONObject)
        #expect(options.path == nil && options.activityTimeout == nil)
        #expect(PusherClientOptions(host: .cluster("eu")).host == "ws-eu.pusher.com")
        #expect(PusherClientOptions(useTLS: false).port == 80)
    }

    @Test func leadToTheBroker() {
        let options = PusherClientOptions(
            host: .host("127.0.0.1"),
            port: 6001,
            path: "/live",
            useTLS: false
        )
        #expect(
            Pusher(key: "k", options: options).connection.url == "ws://127.0.0.1:6001/live/app/k"
        )
    }

    @Test func determineTheTypeOfAChannel() {
        let kinds: [(String, PusherChannelType)] = [
            ("private-a", .private), ("private-encrypted-a", .private), ("presence-a", .presence),
            ("userslist", .normal), ("private", .normal), ("my-private-a", .normal),
            ("cache-a", .normal),
        ]
        for (name, kind) in kinds { #expect(PusherChannelType(name: name) == kind) }
        #expect(PusherChannelType.isPresenceChannel(name: "presence-a"))
    }
}
