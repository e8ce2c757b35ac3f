import Glibc
import Testing

@testable import Net

@Suite("Streams over real sockets") struct StreamTests {
    @Test(arguments: ["127.0.0.1", "::1"])
    func echoesInBothDirections(ip: String) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let address = try #require(SocketAddress(ip: ip, port: 0))
        let server = Recorder.echo()
        let listener = try reactor.listen(on: address) { _ in server }
        let client = Recorder()
        let stream = try reactor.connect(to: listener.address, timeout: .seconds(5), owner: client)
        stream.write(Array("hello, ".utf8))
        stream.write(Array("world".utf8))
        reactor.run { client.received.count == 12 }
        #expect(client.received == Array("hello, world".utf8))
        #expect(client.openedCount == 1 && server.openedCount == 1)
        #expect(listener.acceptedCount == 1)
        stream.close(within: .seconds(5))
        reactor.run { client.isClosed && server.isClosed }
        #expect(client.error == nil && server.error == nil)
        #expect(server.endCount == 1)
        #expect(reactor.streamCount == 0)
    }

    @Test func carriesALargeTransferThroughShortWrites() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let server = Recorder.echo()
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let listener = try reactor.listen(on: address) { _ in server }
        let client = Recorder()
        let stream = try reactor.connect(to: listener.address, timeout: .seconds(5), owner: client)
        let bytes = pattern(6 << 20)
        var start = 0
        // Pieces of every size up to 100 kB, hundreds of buffers in one queue.
        var size = 1
        while start < bytes.count {
            let end = min(start + size, bytes.count)
            stream.write(Array(bytes[start..<end]))
            start = end
            size = size * 3 % 100_003
        }
        reactor.run { client.received.count >= bytes.count }
        #expect(client.received == bytes)
        #expect(client.drainedCount > 0)
        #expect(stream.queuedByteCount == 0)
    }
}
