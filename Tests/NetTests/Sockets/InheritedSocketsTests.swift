import Glibc
import Testing

@testable import Net

@Suite("Inherited sockets") struct InheritedSocketsTests {
    @Test(
        "Without sockets for this process there are none",
        arguments: [
            [:],
            ["LISTEN_FDS": "1"],
            ["LISTEN_PID": "7", "LISTEN_FDS": "1"],
            ["LISTEN_PID": "8"],
            ["LISTEN_PID": "8", "LISTEN_FDS": "0"],
            ["LISTEN_PID": "8", "LISTEN_FDS": "-1"],
            ["LISTEN_PID": "8", "LISTEN_FDS": "one"],
            ["LISTEN_PID": "eight", "LISTEN_FDS": "1"],
        ]
    )
    func none(environment: [String: String]) throws {
        #expect(try InheritedSockets(environment: environment, processID: 8).addresses.isEmpty)
    }

    @Test func sharesASocketAmongLoopsAndLeavesItOpen() throws {
        let kept = try Socket.listen(
            on: #require(SocketAddress(ip: "127.0.0.1", port: 0)),
            backlog: 64,
            reusePort: false
        )
        let sockets = try InheritedSockets(descriptors: [kept.raw])
        let address = try #require(sockets.addresses.first)
        let (one, other) = (try Reactor.forTest(), try Reactor.forTest())
        // Before a loop listens: the connection waits in the backlog.
        var peers = [try RawPeer(to: address)]
        let first = try one.listen(on: address, inherited: sockets) { _, _ in Recorder() }
        let second = try other.listen(on: address, inherited: sockets) { _, _ in Recorder() }
        for _ in 0..<32 { peers.append(try RawPeer(to: address)) }
        one.run {
            other.turn(atMost: .zero)
            return first.acceptedCount + second.acceptedCount == peers.count
        }
        one.shutDown()
        other.shutDown()
        // As a client that connects while the broker is restarted.
        peers.append(try RawPeer(to: address))
        let next = try Reactor.forTest()
        defer { next.shutDown() }
        let listener = try next.listen(on: address, inherited: sockets) { _, _ in Recorder() }
        next.run { listener.acceptedCount == 1 }
    }

    @Test func listensOnOtherAddressesItself() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let listener = try reactor.listen(on: address, inherited: .none) { _, _ in Recorder() }
        #expect(listener.address.port != 0)
    }

    @Test func refusesWhatDoesNotListen() throws {
        let socket = try Socket.make(AF_INET)
        #expect(throws: InheritanceError(descriptor: socket.raw)) {
            try InheritedSockets(descriptors: [socket.raw])
        }
        #expect(
            InheritanceError(descriptor: 3).description
                == "Descriptor 3 of LISTEN_FDS is not a listening socket: "
                + "use ListenStream= and Accept=no in the socket's unit"
        )
    }
}
