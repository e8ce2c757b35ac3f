import PusherProtocol
import Testing

@testable import Broker

@Suite("The user that a backend signs in") struct SignedInUserTests {
    private func user(_ text: String, limits: AppLimits = AppLimits()) throws(UserDataError)
        -> SignedInUser
    { try SignedInUser(userData: text, limits: limits) }

    @Test func idAndInfoAreThoseOfTheMember() throws {
        let user = try user(#"{"id":"u-1","user_info":{"name": "Ann"},"more":1}"#)
        #expect(user.id == UserID("u-1"))
        #expect(user.member.info == Array(#"{"name": "Ann"}"#.utf8))
        #expect(user.watchlist.isEmpty)
        #expect(try self.user(#"{"id":"u-1","user_info":null}"#).member.info == nil)
    }

    @Test func theWatchlistNamesEachUserOnceAndNoMoreThanAllowed() throws {
        var limits = AppLimits()
        limits.watchlistMax = 3
        let user = try user(
            #"{"id":"u-1","watchlist":["a","b","a","c","d","e"]}"#,
            limits: limits
        )
        #expect(user.watchlist.map(\.text) == ["a", "b", "c"])
        #expect(user.watchlistCount == 6)
        #expect(try self.user(#"{"id":"u-1","watchlist":null}"#).watchlist.isEmpty)
    }

    @Test(arguments: [
        (#"{}"#, UserDataError.noID),
        (#"{"id":""}"#, .noID),
        (#"{"id":7}"#, .noID),
        (#"{"id":null}"#, .noID),
        (#"{"id":"a b"}"#, .invalidID(lengthMax: 128)),
        (#"{"id":"u","watchlist":"a"}"#, .invalidWatchlist),
        (#"{"id":"u","watchlist":[1]}"#, .invalidWatchlist),
        (#"{"id":"\ud83d"}"#, .invalidID(lengthMax: 128)),
        (#"{"id":"u","watchlist":["\ud83d"]}"#, .invalidWatchlist),
    ])
    func invalidUserDataIsRefused(text: String, expected: UserDataError) {
        #expect(throws: expected) { try user(text) }
    }

    @Test(arguments: ["", "[]", "7", "{", #""u""#])
    func whatIsNoObjectIsRefused(text: String) {
        #expect {
            try user(text)
        } throws: {
            if case UserDataError.malformed = $0 { true } else { false }
        }
    }

    @Test func idAndInfoAreBounded() {
        let id = String(repeating: "a", count: 129)
        #expect(throws: UserDataError.invalidID(lengthMax: 128)) { try user(#"{"id":"\#(id)"}"#) }
        var limits = AppLimits()
        limits.userInfoLengthMax = 4
        #expect(throws: UserDataError.infoTooLong(length: 5, lengthMax: 4)) {
            try user(#"{"id":"u","user_info":"abc"}"#, limits: limits)
        }
    }
}
