import Synchronization
import Testing

@testable import FanfareClient

@Suite("Event buffers") struct EventBufferTests {
    private func buffer(limit: Int = 10, byteLimit: Int = 1000) -> EventBuffer<Int> {
        EventBuffer(policy: .reportsLoad(limit: limit, byteLimit: byteLimit, overflow: -1))
    }

    @Test func deliversInOrderBeforeAndAfterReadingBegins() async throws {
        let buffer = buffer()
        for number in 0..<5 { buffer.send(number) }
        var read: [Int] = []
        for _ in 0..<5 { if let number = try await buffer.next() { read.append(number) } }
        async let late = buffer.next()
        buffer.send(5)
        #expect(try await late == 5)
        #expect(read == [0, 1, 2, 3, 4])
    }

    @Test("Once read, the buffer grows, and reports its load")
    func reportsItsLoad() async throws {
        let loads = Seen<Load>()
        let buffer = EventBuffer<Int>(
            policy: .reportsLoad(limit: 3, byteLimit: 1000, overflow: -1),
            drained: { _, load in loads.add(load) }
        )
        #expect(buffer.send(0, bytes: 10) == Load())
        #expect(try await buffer.next() == 0)
        for number in 1...5 {
            #expect(
                buffer.send(number, bytes: 10) == Load(count: number, bytes: number * 10)
            )
        }
        for number in 1...5 { #expect(try await buffer.next() == number) }
        #expect(loads.all.map(\.count) == [0, 4, 3, 2, 1, 0])
        #expect(loads.all.map(\.bytes) == [0, 40, 30, 20, 10, 0])
    }

    @Test(
        "Before the first read, a buffer that exceeds a limit is emptied, and marks the place",
        arguments: [(3, 1), (1000, 400)]
    )
    func marksAnOverflow(limit: Int, bytes: Int) async throws {
        let buffer = buffer(limit: limit)
        for number in 0..<8 { #expect(buffer.send(number, bytes: bytes) == Load()) }
        buffer.finish()
        var read: [Int] = []
        while let number = try await buffer.next() { read.append(number) }
        #expect(read.first == -1)
        #expect(read.dropFirst().elementsEqual((0..<8).suffix(read.count - 1)))
        #expect(read.count > 1 && read.count <= 3)
    }

    @Test func marksAnElementLongerThanItsLimit() async throws {
        let buffer = buffer()
        buffer.send(1)
        buffer.send(2, bytes: 1001)
        buffer.send(3)
        #expect(try await buffer.next() == -1)
        #expect(try await buffer.next() == 3)
    }

    @Test func keepsTheNewestWhereOnlyThatCounts() async throws {
        let buffer = EventBuffer<Int>(policy: .keepsNewest(limit: 3))
        for number in 0..<1000 { buffer.send(number) }
        for number in 997..<1000 { #expect(try await buffer.next() == number) }
    }

    @Test func deliversBufferedElementsBeforeItEnds() async throws {
        let buffer = buffer()
        buffer.send(1)
        buffer.finish(throwing: .disconnected)
        buffer.send(2)
        #expect(try await buffer.next() == 1)
        await #expect(throws: FanfareError.disconnected) { try await buffer.next() }
        #expect(try await buffer.next() == nil)
    }

    @Test func wakesAReaderAtTheEnd() async throws {
        let buffer = buffer()
        async let read = buffer.next()
        buffer.finish()
        #expect(try await read == nil)
    }

    @Test func returnsNilToACancelledTaskAndLosesNothing() async throws {
        let buffer = buffer()
        let task = Task { try await buffer.next() }
        task.cancel()
        #expect(try await task.value == nil)
        buffer.send(1)
        #expect(try await buffer.next() == 1)
    }

    @Test("A reader that is released with unread elements reports that it is no longer behind")
    func reportsItsRelease() async throws {
        let loads = Seen<Load>()
        var buffer: EventBuffer<Int>? = EventBuffer(
            policy: .reportsLoad(limit: 3, byteLimit: 1000, overflow: -1),
            drained: { _, load in loads.add(load) }
        )
        buffer?.send(0)
        _ = try await buffer?.next()
        for number in 0..<5 { buffer?.send(number) }
        buffer = nil
        await loads.wait(for: 2)
        #expect(loads.all == [Load(), Load()])
    }

    @Test func deliversEveryElementToOneOfManyTasks() async throws {
        let buffer = buffer(limit: 100_000, byteLimit: .max)
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
