import Glibc
import Testing

@testable import Net

@Suite("Output queue") struct OutputQueueTests {
    /// Returns all bytes of a queue, in order; they stay queued.
    private func bytes(of queue: OutputQueue) -> [UInt8] {
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 1)
        defer { scratch.deallocate() }
        return queue.withFirst(1 << 20, scratch) {
            Array(UnsafeRawBufferPointer(start: $0, count: $1))
        }
            ?? []
    }

    @Test("Short buffers are gathered: two bytes must not take the memory of fifty")
    func gathersShortBuffers() {
        let queue = OutputQueue()
        var expected: [UInt8] = []
        for number in 0..<100_000 {
            let pong = [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
            queue.gather(pong)
            expected += pong
        }
        #expect(queue.byteCount == 200_000)
        #expect(queue.bufferCount <= 200_000 / OutputQueue.gatheredLengthMax + 2)
        #expect(bytes(of: queue) == expected)
    }

    @Test("Nothing is appended to a shared buffer, and a long buffer is never copied")
    func refersToTheOthers() {
        let queue = OutputQueue()
        let shared = pattern(200)
        let long = pattern(OutputQueue.shortLengthMax + 1)
        queue.append(shared)
        queue.gather([1])
        queue.append(shared)
        queue.append(shared)
        queue.gather([2])
        queue.gather([3])
        queue.gather(long)
        queue.gather([4])
        #expect(queue.bufferCount == 7)
        #expect(bytes(of: queue) == shared + [1] + shared + shared + [2, 3] + long + [4])
        #expect(shared == pattern(200))
    }

    @Test("Nothing is appended to the first buffer, which may be partly sent")
    func leavesTheFirstAlone() {
        let queue = OutputQueue()
        queue.gather([1, 2, 3])
        queue.remove(1)
        queue.gather([4, 5])
        #expect(queue.bufferCount == 2)
        queue.gather([6])
        #expect(queue.bufferCount == 2)
        // Now the gathered buffer is the first.
        queue.remove(3)
        queue.gather([7])
        #expect(queue.bufferCount == 2)
        #expect(bytes(of: queue) == [5, 6, 7])
        queue.remove(3)
        #expect(queue.isEmpty)
    }

    @Test("Buffers that are partly sent or to be retried stay when the rest is dropped")
    func discards() {
        let queue = OutputQueue()
        for byte: UInt8 in [1, 2, 3] { queue.gather([byte, byte]) }
        queue.remove(1)
        queue.discard(keeping: 0)
        #expect(bytes(of: queue) == [1])
        for byte: UInt8 in [4, 5, 6] { queue.gather([byte]) }
        #expect(bytes(of: queue) == [1, 4, 5, 6])
        queue.discard(keeping: 2)
        #expect(bytes(of: queue) == [1, 4, 5, 6], "gathered bytes go together")
        queue.discard(keeping: 1)
        #expect(bytes(of: queue) == [1])
    }

    @Test("A peer that does not read its answers at first gets all of them in order")
    func arrivesInOrder() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let (stream, peer) = try reactor.streamAndPeer(Recorder())
        var expected: [UInt8] = []
        var received: [UInt8] = []
        for number in 0..<200 {
            // Short and long buffers, with turns in between.
            for length in [2, 40, 300, 5_000, 3] where (number + length) % 3 > 0 {
                let bytes = pattern(length, seed: UInt32(number))
                stream.write(bytes)
                expected += bytes
            }
            if number % 7 == 0 { reactor.settle() }
            if number % 31 == 0 { received += try #require(peer.read(atMost: 1_000)) }
        }
        reactor.run {
            received += peer.read() ?? []
            return received.count >= expected.count
        }
        #expect(received == expected)
    }
}
