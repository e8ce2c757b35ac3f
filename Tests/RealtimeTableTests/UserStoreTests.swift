import DemoSite
import Testing

@testable import RealtimeTable

@Suite("The list in the database") struct UserStoreTests {
    let store: UserStore

    /// Rows John Doe (1), Ada (2), Grace (3), Mary (4).
    init() throws {
        store = try UserStore(database: [Migration.createUsers].open(nil))
        for name in ["Ada", "Grace", "Mary"] { _ = try store.add(name: name) }
    }

    private func names() throws -> [String] { try store.users().map(\.name) }

    /// What a screen asks for that shows `order` and drags its row `source` to `destination`.
    private func move(_ source: Int, to destination: Int, seenIn order: [User]) -> Move {
        Move(
            sourceIndex: source,
            destinationIndex: destination,
            sourceID: order[source].id,
            destinationID: order[destination].id
        )
    }

    @Test func ranksAreAlwaysOneTwoThree() throws {
        _ = try store.remove(id: 2)
        _ = try store.move(move(0, to: 2, seenIn: try store.users()))
        _ = try store.add(name: "Hedy")
        #expect(try store.users().map(\.position) == [1, 2, 3, 4])
        #expect(try names() == ["Grace", "Mary", "John Doe", "Hedy"])
    }

    @Test func everyMoveShowsWhatTheScreenShowed() throws {
        for source in 0..<4 {
            for destination in 0..<4 {
                let store = try UserStore(database: [Migration.createUsers].open(nil))
                for name in ["Ada", "Grace", "Mary"] { _ = try store.add(name: name) }
                var screen = try store.users()
                let request = move(source, to: destination, seenIn: screen)
                #expect(try store.move(request) == request)
                screen.insert(screen.remove(at: source), at: destination)
                #expect(try store.users().map(\.id) == screen.map(\.id))
            }
        }
    }

    @Test func anIDNeverComesBack() throws {
        _ = try store.remove(id: 4)
        #expect(try store.add(name: "Hedy") == 5)
    }

    @Test func aUserCanBeAddedToAnEmptyList() throws {
        for id in 1...4 { _ = try store.remove(id: Int64(id)) }
        #expect(try store.users() == [])
        #expect(try store.add(name: "Hedy") == 5)
        #expect(try store.users().map(\.position) == [1])
    }

    @Test func aStaleIndexDoesNotMoveAnotherRow() throws {
        let screen = try store.users()
        _ = try store.remove(id: 1)
        // The screen still shows four rows, and drags Grace (2) to Mary (3).
        let done = try store.move(move(2, to: 3, seenIn: screen))
        #expect(done == Move(sourceIndex: 1, destinationIndex: 2, sourceID: 3, destinationID: 4))
        #expect(try names() == ["Ada", "Mary", "Grace"])
    }

    @Test func draggingDownEndsPastTheAnchorEvenWhenTheTwoChangedPlaces() throws {
        let screen = try store.users()
        // Another screen moves Mary to the top first.
        _ = try store.move(move(3, to: 0, seenIn: screen))
        // This one had dragged John Doe down, past Mary.
        _ = try store.move(move(0, to: 3, seenIn: screen))
        #expect(try names() == ["Mary", "John Doe", "Ada", "Grace"])
    }

    @Test func aVanishedAnchorLeavesThePlace() throws {
        let screen = try store.users()
        _ = try store.remove(id: 4)
        let done = try store.move(move(0, to: 3, seenIn: screen))
        #expect(done?.destinationIndex == 2)
        #expect(try names() == ["Ada", "Grace", "John Doe"])
    }

    @Test func unknownUsersAreLeftAlone() throws {
        #expect(try store.remove(id: 99) == nil)
        let request = Move(sourceIndex: 0, destinationIndex: 1, sourceID: 99, destinationID: 1)
        #expect(try store.move(request) == nil)
        #expect(try store.users().count == 4)
    }

    @Test func aNameIsNeverReadAsSQL() throws {
        let name = "Robert'); DROP TABLE Users; --"
        _ = try store.add(name: name)
        #expect(try names().last == name)
    }

    @Test func aFullListTakesNobody() throws {
        for number in 4..<UserStore.userCountMax { _ = try store.add(name: "User \(number)") }
        #expect(try store.add(name: "One too many") == nil)
        #expect(try store.users().count == UserStore.userCountMax)
    }
}
