import PusherProtocol
import Testing
import TestRandom

@testable import Broker

private func member(_ id: String, info: String? = nil) -> Member {
    Member(id: UserID(id), info: info.map { Array($0.utf8) })
}

private func connection(_ number: UInt64) -> SocketID { SocketID(number, 1) }

@Suite("The members of a presence channel") struct PresenceMembersTests {
    @Test func severalConnectionsOfAUserAreOneMember() {
        var presence = PresenceMembers()
        let arrivals = (1...3).map {
            presence.add(connection($0), as: member("ann"), membersMax: 100)
        }
        #expect(arrivals == [.newMember, .knownMember, .knownMember])
        #expect(presence.members.map(\.id.text) == ["ann"])
        let departures = [2, 1, 3].map { presence.remove(connection($0)) }
        #expect(departures == [.memberStays, .memberStays, .memberLeft(UserID("ann"))])
        #expect(presence.isEmpty)
    }

    @Test func knowsTheUserOfEachConnection() {
        var presence = PresenceMembers()
        _ = presence.add(connection(1), as: member("ann"), membersMax: 1)
        _ = presence.add(connection(2), as: member("ann"), membersMax: 1)
        _ = presence.add(connection(3), as: member("bob"), membersMax: 1)
        #expect(presence.user(of: connection(2)) == UserID("ann"))
        #expect(presence.user(of: connection(3)) == nil, "was refused")
        _ = presence.remove(connection(2))
        #expect(presence.user(of: connection(2)) == nil)
        #expect(presence.user(of: connection(1)) == UserID("ann"))
    }

    @Test func theInfoOfTheFirstConnectionStaysUntilTheUserHasLeft() {
        var presence = PresenceMembers()
        _ = presence.add(connection(1), as: member("ann", info: "1"), membersMax: 100)
        _ = presence.add(connection(2), as: member("ann", info: "2"), membersMax: 100)
        _ = presence.remove(connection(1))
        #expect(presence.members == [member("ann", info: "1")])
        _ = presence.remove(connection(2))
        _ = presence.add(connection(3), as: member("ann", info: "3"), membersMax: 100)
        #expect(presence.members == [member("ann", info: "3")])
    }

    @Test func aFullChannelTakesMoreConnectionsButNoMoreUsers() {
        var presence = PresenceMembers()
        for number in UInt64(1)...2 {
            _ = presence.add(connection(number), as: member("user-\(number)"), membersMax: 2)
        }
        let another = presence.add(connection(3), as: member("user-3"), membersMax: 2)
        #expect(another == .refused)
        let known = presence.add(connection(4), as: member("user-1"), membersMax: 2)
        #expect(known == .knownMember)
        let departures = [3, 2].map { presence.remove(connection($0)) }
        #expect(departures == [.unknown, .memberLeft(UserID("user-2"))])
        let again = presence.add(connection(3), as: member("user-3"), membersMax: 2)
        #expect(again == .newMember)
    }

    /// Clients compare IDs as JavaScript does, for which these two differ.
    @Test func idsAreComparedByteByByte() {
        var presence = PresenceMembers()
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        #expect(composed == decomposed)
        _ = presence.add(connection(1), as: member(composed), membersMax: 9)
        let arrival = presence.add(connection(2), as: member(decomposed), membersMax: 9)
        #expect(arrival == .newMember)
        #expect(presence.members.count == 2)
    }

    @Test("A list derived from the notices equals the presence's", arguments: 0..<20)
    func noticesAreExact(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var presence = PresenceMembers()
        /// The reference: the user of each connection.
        var model: [UInt64: String] = [:]
        /// The members known to a subscriber that has received every notice.
        var known: [String] = []
        let membersMax = 8
        for _ in 0..<2_000 {
            let number = UInt64.random(in: 0..<40, using: &random)
            if model[number] == nil, Bool.random(using: &random) {
                let user = "user-\(Int.random(in: 0..<12, using: &random))"
                let isKnown = model.values.contains(user)
                let isFull = Set(model.values).count == membersMax
                let arrival = presence.add(connection(number), as: member(user), membersMax: 8)
                #expect(arrival == (isKnown ? .knownMember : isFull ? .refused : .newMember))
                if arrival != .refused { model[number] = user }
                if arrival == .newMember { known.append(user) }
            } else {
                let user = model.removeValue(forKey: number)
                let departure = presence.remove(connection(number))
                let isLast = user.map { !model.values.contains($0) } ?? false
                let expected = user.map {
                    isLast ? PresenceMembers.Departure.memberLeft(UserID($0)) : .memberStays
                }
                #expect(departure == expected ?? .unknown)
                if case .memberLeft(let user) = departure { known.removeAll { $0 == user.text } }
            }
            let members = presence.members.map(\.id.text)
            #expect(members.sorted() == Set(model.values).sorted())
            #expect(members.sorted() == known.sorted())
        }
    }
}

@Suite("The messages of a presence channel") struct PresenceMessagesTests {
    @Test func theListHasTheIDsTheInfosAndTheCount() throws {
        let message = ServerMessage.subscriptionSucceeded(
            channel: try ChannelName("presence-x"),
            members: [member("1", info: #"{"name":"Ann"}"#), member(#"a"b"#)]
        )
        guard case .subscriptionSucceeded("presence-x", let data) = message else {
            Issue.record("\(message)")
            return
        }
        #expect(
            data
                == #"{"presence":{"ids":["1","a\"b"],"hash":{"1":{"name":"Ann"},"a\"b":null},"count":2}}"#
        )
    }

    @Test func withoutMembersTheDataIsEmpty() throws {
        #expect(
            ServerMessage.subscriptionSucceeded(channel: try ChannelName("chat"), members: [])
                == .subscriptionSucceeded(channel: "chat", data: "{}")
        )
    }
}
