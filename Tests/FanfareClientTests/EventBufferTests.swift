import Testing

@testable import FanfareClient

@Suite("Event buffers") struct EventBufferTests {
    @Test func deliversInOrderBeforeAndAfterReadingBegins() async throws {
        let buffer = EventBuffer<Int>(limit: 10, policy: .endsWithError)
        for number in 0..<5 { buffer.send(number) }
        var read: [Int] = []
        for _ in 0..<5 { if let number = try await buffer.next() { read.append(number) } }
        async let late = buffer.next()
        buffer.send(5)
        #expect(try await late == 5)
        #expect(read == [0, 1, 2, 3, 4])
    }

    @Test func losesNothingInSilence() async throws {
        let buffer = EventBuffer<Int>(limit: 3, policy: .endsWithError)
        for number in 0..<5 { buffer.send(number) }
        for number in 0..<3 { #expect(try await buffer.next() == number) }
        await #expect(throws: FanfareError.overflow(limit: 3)) { try await buffer.next() }
        #expect(try await buffer.next() == nil)
    }

    @Test func keepsTheNewestWhereOnlyThatCounts() async throws {
        let buffer = EventBuffer<Int>(limit: 3, policy: .keepsNewest)
        for number in 0..<1000 { buffer.send(number) }
        for number in 997..<1000 { #expect(try await buffer.next() == number) }
    }

    @Test func deliversBufferedElementsBeforeItEnds() async throws {
        let buffer = EventBuffer<Int>(limit: 3, policy: .endsWithError)
        buffer.send(1)
        buffer.finish(throwing: .disconnected)
        buffer.send(2)
        #expect(try await buffer.next() == 1)
        await #expect(throws: FanfareError.disconnected) { try await buffer.next() }
        #expect(try await buffer.next() == nil)
    }

    @Test func wakesAReaderAtTheEnd() async throws {
        let buffer = EventBuffer<Int>(limit: 3, policy: .endsWithError)
        async let read = buffer.next()
        buffer.finish()
        #expect(try await read == nil)
    }

    @Test func returnsNilToACancelledTaskAndLosesNothing() async throws {
        let buffer = EventBuffer<Int>(limit: 3, policy: .endsWithError)
        let task = Task { try await buffer.next() }
        task.cancel()
        #expect(try await task.value == nil)
        buffer.send(1)
        #expect(try await buffer.next() == 1)
    }

    @Test func deliversEveryElementToOneOfManyTasks() async throws {
        let buffer = EventBuffer<Int>(limit: 100_000, policy: .endsWithError)
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var sum = 0
                    while let number = try await buffer.next() { sum += number }
                    return sum
                }
            }
            for number in 1...10_000 { buffer.send(number) }
            buffer.finish()
            return try await group.reduce(0, +)
        }
        #expect(sum == 10_000 * 10_001 / 2)
    }
}
