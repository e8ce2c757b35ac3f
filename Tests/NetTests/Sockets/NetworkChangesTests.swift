import CLinux
import Glibc
import Synchronization
import Testing

@testable import Net

@_silgen_name("unshare") private func unshare(_ flags: Int32) -> Int32

/// A network of the calling thread alone, with a loopback interface that is down: the machine's network stays as it is.
private func enterOwnNetwork() -> Bool { unshare(0x4000_0000) == 0 }

/// Brings the loopback interface up or down.
private func setLoopback(up isUp: Bool) -> Bool {
    // struct ifreq: the name in 16 bytes, then the flags.
    var request = [UInt8](repeating: 0, count: 40)
    request.replaceSubrange(0..<2, with: "lo".utf8)
    request[16] = isUp ? UInt8(IFF_UP) : 0
    let socket = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(socket) }
    return ioctl(socket, UInt(SIOCSIFFLAGS), &request) == 0
}

/// Runs a body on a thread of its own, which ends with it.
private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        try? startThread { continuation.resume(returning: body()) }
    }
}

@Suite("Changes of the network", .timeLimit(.minutes(1))) struct NetworkChangesTests {
    private static func mayEnterOwnNetwork() async -> Bool { await onThread(enterOwnNetwork) }

    @Test func canBeObserved() throws {
        let observer = try NetworkChanges().observe {}
        withExtendedLifetime(observer) {}
    }

    @Test(
        "Changes that come together are reported once, to every observer until it is released",
        .enabled("the process may not create a network") { await mayEnterOwnNetwork() }
    )
    func reportsAnInterface() async throws {
        let changes = NetworkChanges()
        let counts = [Counter(), Counter()]
        let ended = await onThread { () -> Bool in
            guard enterOwnNetwork() else { return false }
            do {
                let first = try changes.observe { counts[0].add() }
                var second: NetworkChanges.Observer? = try changes.observe { counts[1].add() }
                guard setLoopback(up: true), counts.allSatisfy({ $0.wait(for: 1) }) else {
                    return false
                }
                withExtendedLifetime(second) {}
                second = nil
                guard setLoopback(up: false), counts[0].wait(for: 2) else { return false }
                withExtendedLifetime(first) {}
                return true
            } catch {
                return false
            }
        }
        #expect(ended)
        #expect(counts.map(\.count) == [2, 1])
    }

    @Test("A socket that can no longer be read is replaced; that is reported, and later changes")
    func reopensItsSocket() throws {
        let pair = try SocketPair()
        let opened = Counter()
        var system = NetworkChanges.System()
        system.reopenDelay = 1000
        system.openSocket = { () throws(SystemError) in
            opened.add()
            switch opened.count {
            // Not a socket: it cannot be read as one.
            case 1: return RoutingSocket(try FileDescriptor(eventfd(0, 0), from: "eventfd"))
            case 2: throw SystemError(call: "socket", code: EMFILE)
            default: return try pair.takeFirst()
            }
        }
        let reported = Counter()
        let changes = NetworkChanges(system)
        let observer = try changes.observe { reported.add() }
        #expect(reported.wait(for: 1))
        #expect(opened.count == 3)
        pair.write()
        #expect(reported.wait(for: 2))
        withExtendedLifetime((observer, changes)) {}
    }

    @Test("A socket without a thread is closed, and the next observer tries again")
    func closesItsSocket() throws {
        let pairs = [try SocketPair(), try SocketPair()]
        let opened = Counter()
        let started = Counter()
        var system = NetworkChanges.System()
        system.openSocket = { () throws(SystemError) in
            opened.add()
            return try pairs[opened.count - 1].takeFirst()
        }
        system.start = { (body) throws(SystemError) in
            started.add()
            if started.count == 1 { throw SystemError(call: "pthread_create", code: EAGAIN) }
            try startThread(body)
        }
        let changes = NetworkChanges(system)
        let refusal = SystemError(call: "pthread_create", code: EAGAIN)
        #expect(throws: refusal) { try changes.observe {} }
        #expect(pairs[0].isClosed)
        let reported = Counter()
        let observer = try changes.observe { reported.add() }
        #expect(!pairs[1].isClosed)
        pairs[1].write()
        #expect(reported.wait(for: 1))
        withExtendedLifetime((observer, changes)) {}
    }
}

/// Two connected sockets; the first is given away.
private final class SocketPair: Sendable {
    private let first: Mutex<Int32>
    private let second: FileDescriptor

    init() throws {
        var raw: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue)
        _ = try SystemError.check(socketpair(AF_UNIX, type, 0, &raw), "socketpair")
        first = Mutex(raw[0])
        second = try FileDescriptor(raw[1], from: "socketpair")
    }

    /// Whether the first socket was closed.
    var isClosed: Bool {
        var byte: UInt8 = 0
        return recv(second.raw, &byte, 1, Int32(MSG_DONTWAIT)) == 0
    }

    func takeFirst() throws(SystemError) -> RoutingSocket {
        RoutingSocket(try FileDescriptor(first.withLock { $0 }, from: "socketpair"))
    }

    func write() { send(second.raw, "x", 1, 0) }
}

private final class Counter: Sendable {
    private let value = Atomic(0)
    var count: Int { value.load(ordering: .acquiring) }

    func add() { value.add(1, ordering: .acquiringAndReleasing) }

    /// Waits until a count is reached, for at most twenty seconds.
    func wait(for count: Int) -> Bool {
        for _ in 0..<2000 where self.count < count { usleep(10_000) }
        return self.count >= count
    }
}
