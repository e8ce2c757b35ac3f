import PusherProtocol
import Testing

@testable import Broker

@Suite("channel_data, Pusher protocol") struct MemberTests {
    private func read(
        _ text: String,
        _ limits: AppLimits = AppLimits()
    ) -> Result<Member, MemberError> {
        do throws(MemberError) {
            return .success(try Member(channelData: text, limits: limits))
        } catch {
            return .failure(error)
        }
    }

    @Test(
        "An integer ID becomes text, and the info is kept verbatim",
        arguments: [
            (#"{"user_id":"u-1"}"#, "u-1", nil),
            (
                #"{"user_id":10,"user_info":{"name":"Mr. Channels"}}"#, "10",
                #"{"name":"Mr. Channels"}"#
            ),
            (#" { "user_info" : [1, 2.50] , "user_id" : "u-1" } "#, "u-1", "[1, 2.50]"),
            (#"{"user_id":"u-1","user_info":null}"#, "u-1", nil),
            (#"{"user_id":"\u017b\u00f3\u0142\u0107","user_info":"\u017b"}"#, "Żółć", #""\u017b""#),
            (#"{"user_id":"u","user_info":"\ud83d"}"#, "u", #""\ud83d""#),
            // More digits than a floating-point number holds.
            (#"{"user_id":9007199254740993123}"#, "9007199254740993123", nil),
            (#"{"user_id":-7,"other":{}}"#, "-7", nil),
        ] as [(String, String, String?)]
    )
    func reads(text: String, id: String, info: String?) {
        let member = Member(id: UserID(id), info: info.map { Array($0.utf8) })
        #expect(read(text) == .success(member))
    }

    @Test(
        "Invalid channel_data is refused",
        arguments: [
            ("{}", MemberError.noID), (#"{"user_id":""}"#, .noID), (#"{"user_id":null}"#, .noID),
            (#"{"user_id":true}"#, .invalidID), (#"{"user_id":{}}"#, .invalidID),
            (#"{"user_id":["u"]}"#, .invalidID), (#"{"user_id":1.5}"#, .invalidID),
            (#"{"user_id":1e3}"#, .invalidID), ("", .malformed(.unexpectedEnd)),
            (#""u-1""#, .malformed(.unexpectedByte(0x22, at: 0))),
            (#"{"user_id":"u\ud83d"}"#, .loneSurrogate),
            (#"{"user_id":"u"}x"#, .malformed(.unexpectedByte(0x78, at: 15))),
        ]
    )
    func refuses(text: String, error: MemberError) {
        #expect(read(text) == .failure(error))
    }

    @Test func limitsTheIDInCharacters() {
        let longest = String(repeating: "ż", count: 128)
        let tooLong = longest + "ż"
        #expect((try? read(#"{"user_id":"\#(longest)"}"#).get())?.id.text == longest)
        #expect(
            read(#"{"user_id":"\#(tooLong)"}"#) == .failure(.idTooLong(length: 129, lengthMax: 128))
        )
    }

    @Test func limitsTheInfoInBytes() {
        // Two bytes are the quotes.
        let longest = String(repeating: "x", count: 1_022)
        let tooLong = longest + "x"
        #expect(
            (try? read(#"{"user_id":1,"user_info":"\#(longest)"}"#).get())?.info?.count == 1_024
        )
        #expect(
            read(#"{"user_id":1,"user_info":"\#(tooLong)"}"#)
                == .failure(.infoTooLong(length: 1_025, lengthMax: 1_024))
        )
        var generous = AppLimits()
        generous.userInfoLengthMax = 1_025
        #expect((try? read(#"{"user_id":1,"user_info":"\#(tooLong)"}"#, generous).get()) != nil)
    }
}
