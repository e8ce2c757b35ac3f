import Glibc
import Net

/// An event loop: a fan-out pass over a channel's subscribers, and timers.
enum Loop {
    static var subjects: [Subject] { [fanout, timers] }

    private static let streamCount = 200

    private static func makeReactor() -> Reactor {
        do {
            return try Reactor(loop: EventLoop(name: "microbench"))
        } catch {
            fail("\(error)")
        }
    }

    /// Sends one frame to each of 200 sockets; most of the time is the kernel's send.
    private static var fanout: Subject {
        let reactor = makeReactor()
        let group = reactor.makeGroup()
        let members = (0..<streamCount).map { _ in Member(reactor) }
        for member in members { consume(group.join(member.stream)) }
        let frame = [UInt8](repeating: UInt8(ascii: "x"), count: 128)
        var received = [UInt8](repeating: 0, count: 1 << 16)
        return Subject(
            name: "fan-out",
            operation: "a frame of 128 bytes to one of \(streamCount) sockets, send included",
            operationsPerCall: streamCount,
            body: {
                group.send(frame)
                reactor.flush()
            },
            restore: { for member in members { member.drain(into: &received) } },
            callsMax: 64
        )
    }

    /// Schedules and cancels a timer while ten thousand others wait.
    private static var timers: Subject {
        let reactor = makeReactor()
        let target = Silent()
        for index in 0..<10_000 {
            reactor.schedule(after: .milliseconds(60_000 + index * 7), target)
        }
        return Subject(name: "timer", operation: "a timer scheduled and cancelled, beside 10,000") {
            reactor.cancel(reactor.schedule(after: .seconds(120), target))
        }
    }
}

/// A pair of sockets: one is a stream of the reactor, the other is read by the benchmark.
private final class Member {
    let stream: Stream
    private let peer: FileDescriptor

    init(_ reactor: Reactor) {
        var raw: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &raw) == 0 else { fail("socketpair failed") }
        do {
            peer = try FileDescriptor(raw[1], from: "socketpair")
            stream = try reactor.adopt(
                FileDescriptor(raw[0], from: "socketpair"),
                delegate: Silent()
            )
        } catch {
            fail("\(error)")
        }
    }

    /// Reads everything that was sent.
    func drain(into bytes: inout [UInt8]) {
        while recv(peer.raw, &bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
    }
}

/// Ignores all events.
private final class Silent: StreamDelegate, TimerTarget {
    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { bytes.count }
    func streamClosed(_ stream: Stream, error: StreamError?) {}
    func timerFired(tag: Int) {}
}
