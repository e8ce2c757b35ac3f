import CommandSupport
import Foundation
import Glibc
import Net
import Testing

@testable import FanfareBench

@Suite("The server's process, proc(5)") struct ServerProcessTests {
    private let table = """
          sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
           0: 0100007F:1771 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0
           1: 00000000:1771 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 100 0 0 10 0
           2: 0100007F:1771 0100007F:A001 01 00000000:00000000 00:00000000 00000000     0        0 4713 1 0000000000000000 20 4 30 10 -1
           3: 0100007F:1772 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4714 1 0000000000000000 100 0 0 10 0
        """

    @Test func listenersAreFoundByTheirPort() {
        #expect(ServerProcess.listeners(in: table, port: 6001) == ["4711", "4712"])
        #expect(ServerProcess.listeners(in: table, port: 6002) == ["4714"])
        #expect(ServerProcess.listeners(in: table, port: 80) == [])
        #expect(ServerProcess.listeners(in: "", port: 80) == [])
    }

    @Test func listenersOfVersion6AreFound() {
        let line =
            "   0: 00000000000000000000000001000000:1771 00000000000000000000000000000000:0000 0A "
            + "00000000:00000000 00:00000000 00000000     0        0 99 1 0000000000000000 100 0 0 10 0"
        #expect(ServerProcess.listeners(in: line, port: 6001) == ["99"])
    }

    @Test func inodesAreParsed() {
        #expect(ServerProcess.inode(ofLink: "socket:[4711]") == "4711")
        #expect(ServerProcess.inode(ofLink: "pipe:[4711]") == nil)
        #expect(ServerProcess.inode(ofLink: "/dev/null") == nil)
    }

    @Test func descriptorLimitIsRead() {
        let limits = """
            Limit                     Soft Limit           Hard Limit           Units
            Max processes             100                  100                  processes
            Max open files            1024                 20000                files
            """
        #expect(ServerProcess.descriptorLimit(in: limits) == 1024)
        #expect(ServerProcess.descriptorLimit(in: "Max open files  unlimited unlimited") == nil)
    }

    @Test func memoryIsRead() {
        let rollup = """
            5576ff35b000-7fffefb8b000 ---p 00000000 00:00 0                          [rollup]
            Rss:                1708 kB
            Pss:                 282 kB
            Pss_Dirty:           112 kB
            """
        #expect(ProcFile.byteCount(of: "Pss:", in: rollup) == 282 * 1_024)
        #expect(ProcFile.byteCount(of: "Pss:", in: "Rss: 1 kB\nPss_Dirty: 112 kB") == nil)
    }

    @Test func memoryGrowsWithWhatIsUsed() throws {
        let process = try #require(ServerProcess(id: getpid()))
        let before = try #require(process.memory())
        let pages = [UInt8](repeating: 1, count: 64 << 20)
        #expect(try #require(process.memory()) > before + 32 << 20)
        #expect(pages.last == 1)
    }

    @Test func portRangeIsCounted() {
        #expect(ConnectionBudget.portCount("32768\t60999\n") == 28_232)
        #expect(ConnectionBudget.portCount("") == nil)
    }

    @Test(
        "Connections to a loopback address come from several",
        arguments: [
            ("127.0.0.1", 16), ("127.1.2.3", 16), ("::1", 1), ("192.0.2.1", 1),
        ]
    ) func sources(ip: String, count: Int) throws {
        let sources = LoadGenerator.sources(for: try #require(SocketAddress(ip: ip, port: 6001)))
        #expect(sources.count == count)
        #expect(Set(sources.map { $0?.ip }).count == count)
    }

    @Test func thisProcessUsesTime() throws {
        let process = try #require(ServerProcess(id: getpid()))
        let before = try #require(process.cpuTime())
        var sum = 0
        for number in 0..<1_000_000 { sum &+= number }
        #expect(sum != 0)
        #expect(try #require(process.cpuTime()) > before)
        #expect(try #require(process.descriptorLimit) > 0)
    }

    @Test func timeOfThreadsThatHaveEndedCounts() async throws {
        let process = try #require(ServerProcess(id: getpid()))
        let before = try #require(process.cpuTime())
        await withCheckedContinuation { done in
            Thread.detachNewThread {
                var sum = 0
                for number in 0..<1_000_000 { sum &+= number }
                #expect(sum != 0)
                done.resume()
            }
        }
        #expect(try #require(process.cpuTime()) > before)
    }

    @Test func noSuchProcessIsNone() {
        #expect(ServerProcess(id: .max) == nil)
    }

    @Test func tooManyConnectionsNameTheLimit() {
        let allowed = Int(clamping: DescriptorLimit.raise())
        #expect {
            try ConnectionBudget.check(allowed, option: "--observers")
        } throws: { error in
            let needed = allowed + ConnectionBudget.spareDescriptors
            let text = "`ulimit -Hn \(needed)`, or use a smaller --observers."
            return "\(error)".hasSuffix(text)
        }
    }
}
