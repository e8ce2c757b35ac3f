import Broker
import Testing

@Suite("The members of a presence channel on all nodes") struct SharedMembersTests {
    private func member(_ name: String, info: String = "{}") -> Member {
        Member(id: UserID(name), info: Array(info.utf8))
    }

    private func names(_ members: SharedMembers) -> [String] {
        members.members.map(\.id.text).sorted()
    }

    @Test func areCountedOnce() {
        var members = SharedMembers()
        var changes = [members.add(member("a")), members.add(member("a", info: "[]"))]
        #expect(members.members == [member("a")])
        changes += [members.remove(UserID("a")), members.remove(UserID("a"))]
        #expect(changes == [true, false, true, false])
        #expect(members.members.isEmpty && !members.contains(UserID("a")))
    }

    @Test(arguments: 0..<4) func anyOneCanLeave(index: Int) {
        var members = SharedMembers()
        let all = ["a", "b", "c", "d"]
        for name in all { members.add(member(name)) }
        members.remove(UserID(all[index]))
        let rest = all.filter { $0 != all[index] }
        #expect(names(members) == rest)
        for name in rest { #expect(members.contains(UserID(name))) }
        for name in rest { members.remove(UserID(name)) }
        #expect(members.members.isEmpty)
    }

    @Test func aLaterListTellsTheDifference() {
        var members = SharedMembers()
        for name in ["a", "b", "c"] { members.add(member(name)) }
        let (left, come) = members.replace(by: ["c", "d", "a"].map { member($0) })
        #expect(left == [UserID("b")] && come == [member("d")])
        #expect(names(members) == ["a", "c", "d"])
        let (nobody, none) = members.replace(by: members.members)
        #expect(nobody.isEmpty && none.isEmpty)
    }
}
