import Foundation
import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Events whose text was cut inside an emoji") struct ChannelEventTests {
    private struct Token: Decodable, Equatable {
        var text: String
        var number = 1
    }

    /// The event that a message with this data, a JSON string, is delivered as.
    private func event(_ data: String) throws -> ChannelEvent {
        let text = #"{"event":"token","channel":"a","data":\#(data)}"#
        return try #require(ChannelEvent(try ServerMessage.parse(Array(text.utf8).span)))
    }

    @Test(
        "Half a surrogate pair is decoded as U+FFFD, and the JSON text stays",
        arguments: [
            (#"{"text":"\ud83d","number":1}"#, "\u{FFFD}"),
            (#"{"number":1,"text":"\uDE00!"}"#, "\u{FFFD}!"),
            (#"{"text":"\ud83d\ud83d\ude00\ude00","number":1}"#, "\u{FFFD}😀\u{FFFD}"),
            (#"{"text":"\\ud83d\\\ud83d","number":1}"#, "\\ud83d\\\u{FFFD}"),
            (#"{"text":"\ud83d\u0041","number":1}"#, "\u{FFFD}A"),
        ]
    )
    func decodes(json: String, text: String) throws {
        let event = try event(String(decoding: JSONWriter.token(json), as: UTF8.self))
        #expect(event.data == json)
        #expect(try event.decode(Token.self) == Token(text: text))
    }

    @Test(
        "Two pieces of an emoji join, as JSON text, as code units, and as a member",
        arguments: [
            // A string; a string as JSON text; one whose text has the half itself, as old browsers send it.
            [#""\ud83d""#, #""\ude00""#],
            [#""\"\\ud83d\"""#, #""\"\\uDE00\"""#],
            [#""\"\ud83d\"""#, #""\"\uDE00\"""#],
        ]
    )
    func join(pieces: [String]) throws {
        let units = try pieces.flatMap { try #require(try event($0).codeUnits()) }
        #expect(String(decoding: units, as: UTF16.self) == "😀")
    }

    @Test(
        "A member of an object joins, too",
        arguments: [
            [#"{"text":"a\ud83d"}"#, #"{"text":"\ude00b"}"#],
            [#""{\"text\":\"a\\ud83d\"}""#, #""{\"text\":\"\\ude00b\"}""#],
            [#""{\"text\":\"a\ud83d\"}""#, #""{\"text\":\"\ude00b\"}""#],
        ]
    )
    func joinMembers(pieces: [String]) throws {
        let units = try pieces.flatMap { try #require(try event($0).codeUnits(of: "text")) }
        #expect(String(decoding: units, as: UTF16.self) == "a😀b")
        #expect(try event(pieces[0]).codeUnits(of: "name") == nil)
    }

    @Test(
        "The code units of other data are those of its text",
        arguments: [
            (#""plain \ud83d\ude00""#, "plain 😀"), (#""\\ud83d""#, #"\ud83d"#), (#""42""#, "42"),
            ("42", "42"), (#""\"\\u00e9\\n\"""#, "é\n"), (#""""#, ""), ("[1]", "[1]"),
        ]
    )
    func codeUnits(data: String, text: String) throws {
        #expect(try event(data).codeUnits() == Array(text.utf16))
        #expect(try event(data).codeUnits(of: "text") == nil)
        #expect(ChannelEvent(name: "e", channel: "a", data: nil).codeUnits() == nil)
    }

    @Test("Data that does not fit is an error, with half a surrogate pair too")
    func undecodable() throws {
        let event = try event(#""{\"text\":7,\"name\":\"\\ud83d\"}""#)
        #expect(throws: FanfareError.self) { try event.decode(Token.self) }
    }

    @Test("Users and members are decoded likewise")
    func users() throws {
        let info = #"{"text":"\ud83d","number":1}"#
        let token = Token(text: "\u{FFFD}")
        #expect(try PresenceMember(id: "u", info: info).decodeInfo(Token.self) == token)
        let user = SignedInUser(#"{"id":"u","text":"\ud83d","number":1}"#)
        #expect(try user?.decode(Token.self) == token)
    }
}
