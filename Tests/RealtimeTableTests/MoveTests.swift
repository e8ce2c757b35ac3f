import Testing

@testable import RealtimeTable

@Suite("Moves of tutorial clients") struct MoveTests {
    private func moved(_ order: [Int64], _ move: Move) throws -> [Int64] {
        let source = try #require(order.firstIndex(of: move.sourceID))
        let anchor = move.anchor(in: order, from: source)
        var order = order
        order.remove(at: source)
        order.insert(
            move.sourceID,
            at: try anchor.map { try #require(order.firstIndex(of: $0)) + 1 } ?? 0
        )
        return order
    }

    /// Returns the request of a screen that shows `order` and drags its row `source` to `destination`.
    private func move(_ source: Int, to destination: Int, seenIn order: [Int64]) -> Move {
        Move(
            sourceIndex: source,
            destinationIndex: destination,
            sourceID: order[source],
            destinationID: order[destination]
        )
    }

    @Test func everyMoveMatchesTheScreen() throws {
        let order: [Int64] = [1, 2, 3, 4]
        for source in 0..<4 {
            for destination in 0..<4 {
                var screen = order
                screen.insert(screen.remove(at: source), at: destination)
                #expect(try moved(order, move(source, to: destination, seenIn: order)) == screen)
            }
        }
    }

    @Test func aStaleIndexDoesNotMoveAnotherRow() throws {
        // The screen still shows four rows and drags 3 to 4, but 1 was removed.
        let request = move(2, to: 3, seenIn: [1, 2, 3, 4])
        #expect(try moved([2, 3, 4], request) == [2, 4, 3])
    }

    @Test func draggingDownEndsPastTheAnchorEvenWhenTheTwoChangedPlaces() throws {
        // Another screen has moved 4 to the top; this one had dragged 1 down, past 4.
        let request = move(0, to: 3, seenIn: [1, 2, 3, 4])
        #expect(try moved([4, 1, 2, 3], request) == [4, 1, 2, 3])
    }

    @Test func aRemovedAnchorKeepsTheIndex() throws {
        let request = move(0, to: 3, seenIn: [1, 2, 3, 4])
        #expect(try moved([1, 2, 3], request) == [2, 3, 1])
    }
}
