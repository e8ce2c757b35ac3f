import Foundation
import Net
import TestProgram
import Testing

/// Clients of one broker, on the test's thread; the test decides when they answer pings.
private final class PollingClients {
    private struct Client {
        let fd: Int32
        var unread: [UInt8] = []
        var isConnected = false
        /// The payload of an unanswered ping.
        var ping: [UInt8]?
        var closeCode: Int?
        var hasEnded = false
    }

    private var clients: [Client] = []

    init(count: Int, port: UInt16) throws {
        let request =
            "GET /app/app-key?protocol=7 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            + "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            + "Sec-WebSocket-Version: 13\r\n\r\n"
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        for _ in 0..<count {
            let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            try #require(fd >= 0)
            clients.append(Client(fd: fd))
            let status = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            try #require(status == 0)
            send(Array(request.utf8), on: fd)
        }
    }

    deinit { for client in clients { close(client.fd) } }

    var connectedCount: Int { clients.count(where: \.isConnected) }
    var pingedCount: Int { clients.count { $0.ping != nil } }
    var closeCodes: [Int: Int] {
        clients.reduce(into: [:]) { if let code = $1.closeCode { $0[code, default: 0] += 1 } }
    }
    var endedCount: Int { clients.count(where: \.hasEnded) }

    /// Reads what is available; waits for at most 20 ms.
    func read() {
        var polled = clients.map { pollfd(fd: $0.fd, events: Int16(POLLIN), revents: 0) }
        poll(&polled, nfds_t(polled.count), 20)
        for index in clients.indices where polled[index].revents != 0 && !clients[index].hasEnded {
            var bytes = [UInt8](repeating: 0, count: 4_096)
            let count = recv(clients[index].fd, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                clients[index].unread += bytes[..<count]
                parse(&clients[index])
            } else if count == 0 || errno != EAGAIN {
                clients[index].hasEnded = true
            }
        }
    }

    /// Answers the pings of all clients but the first few.
    func answer(except silentCount: Int) {
        for index in clients.indices.dropFirst(silentCount) {
            guard let ping = clients[index].ping else { continue }
            clients[index].ping = nil
            // A mask of zero leaves the payload unchanged.
            send([0x8A, 0x80 | UInt8(ping.count), 0, 0, 0, 0] + ping, on: clients[index].fd)
        }
    }

    private func parse(_ client: inout Client) {
        if !client.isConnected {
            guard let end = client.unread.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
            client.unread.removeFirst(end.upperBound)
            client.isConnected = true
        }
        while client.unread.count >= 2 {
            var start = 2
            var length = Int(client.unread[1])
            if length == 126 {
                guard client.unread.count >= 4 else { return }
                length = Int(client.unread[2]) << 8 | Int(client.unread[3])
                start = 4
            }
            guard client.unread.count >= start + length else { return }
            let payload = Array(client.unread[start..<start + length])
            switch client.unread[0] & 15 {
            case 9: client.ping = payload
            case 8: client.closeCode = Int(payload[0]) << 8 | Int(payload[1])
            default: break
            }
            client.unread.removeFirst(start + length)
        }
    }

    private func send(_ bytes: [UInt8], on fd: Int32) {
        _ = Glibc.send(fd, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}

@Suite("A broker that is stopped and continued", .timeLimit(.minutes(2))) struct PausedBrokerTests {
    /// Reads until a condition holds; returns false after 40 seconds.
    private func read(_ clients: PollingClients, until condition: () -> Bool) -> Bool {
        let deadline = ContinuousClock.now + .seconds(40)
        while !condition() {
            guard ContinuousClock.now < deadline else { return false }
            clients.read()
        }
        return true
    }

    // More clients than one poll returns.
    @Test("Clients that answer are kept after a long stop; dead ones are closed")
    func keepsWhoHasAnswered() async throws {
        DescriptorLimit.raise()
        let directory = try TemporaryDirectory()
        let file = directory.path("fanfare.yaml")
        try Data("clients: {activity_timeout: 1, pong_timeout: 8}\n".utf8)
            .write(to: URL(filePath: file))
        let broker = try await RunningBroker(["--loops", "1", "--config", file])
        let port = try #require(UInt16(broker.url().split(separator: ":").last ?? ""))
        let (count, silentCount) = (600, 3)
        let clients = try PollingClients(count: count, port: port)
        try #require(read(clients) { clients.connectedCount == count })
        try #require(read(clients) { clients.pingedCount == count })

        broker.program.signal(SIGSTOP)
        clients.answer(except: silentCount)
        // The pause is longer than the pong timeout.
        try await Task.sleep(for: .seconds(10))
        broker.program.signal(SIGCONT)
        let isOver = read(clients) {
            clients.answer(except: silentCount)
            return clients.closeCodes[4201, default: 0] >= silentCount
        }
        #expect(isOver)
        // All other clients were pinged again meanwhile, and have answered.
        #expect(clients.closeCodes == [4201: silentCount])
        #expect(clients.endedCount <= silentCount)
        broker.program.signal(SIGTERM)
        #expect(await broker.program.end() == 0)
    }
}
