import Archive
import Broker
import BrokerConfiguration
import PusherProtocol
import Simulation
import Testing

@testable import FanfareServer

/// What a query waits for at the archive, while the apps or the channel change.
@Suite("Queries that wait for the archive") struct ArchiveQueryTests {
    /// A broker with a channel of five messages that only the archive has, and a query for some of them.
    private final class Waiting {
        static let first = StreamID(bits: 1)
        let archive = HeldArchive()
        let stepped: SteppedBroker
        let peer: SteppedPeer
        var app: AppConfiguration

        init(_ path: String, on shard: Int, of shards: Int) throws {
            var rule = RecoveryRuleConfiguration()
            rule.settings.store = .archive
            var app = AppConfiguration.development
            app.recoveryRules = [rule]
            self.app = app
            stepped = try SteppedBroker(shards: shards, archive: archive) {
                $0.apps = [app]
                $0.recovery.database = "/history.sqlite"
            }
            var contents = ArchiveContents()
            let address = ChannelAddress(app: AppID("1"), name: try ChannelName("a"))
            let limits = StoredStream.Limits(RecoveryRule())
            let stream = StoredStream(row: 1, address, Self.first, lastSerial: 5, limits)
            contents.streams = [(stream, true)]
            contents.nextRow = 2
            stepped.broker.restore(contents)
            peer = try stepped.connect(to: shard)
            peer.send(SignedRequest(method: "GET", path: path).text)
            stepped.settle()
        }

        /// Replaces the apps on all shards.
        func reload(_ apps: [AppConfiguration]) {
            stepped.broker.reload(apps)
            for shard in 0..<stepped.broker.shardCount { stepped.broker.applyReload(on: shard) }
        }

        /// Has the archive answer the query, and returns the broker's answer.
        func answer(_ page: ArchivePage?) throws -> Answer {
            #expect(peer.answer == nil)
            let reads = archive.takeReads()
            let read = try #require(reads.first)
            #expect(reads.count == 1 && read.query.row == 1)
            stepped.broker.send(.page(page, number: read.number), to: read.shard)
            stepped.settle()
            return try #require(peer.answer)
        }
    }

    /// A message of the channel, as the archive answers.
    private var page: ArchivePage {
        let text = #"{"event":"e","channel":"a","data":"2","serial":2}"#
        let message = StoredMessage(
            serial: 2,
            time: 1_700_000_000_000,
            except: nil,
            envelope: Envelope(text: Array(text.utf8))
        )
        return ArchivePage(messages: [message], oldest: 1)
    }

    private static let paths = ["history", "messages/2/delivery"].map { "/apps/1/channels/a/" + $0 }
    /// The shards of the request and of the broker: some homes are on another one.
    private static let shards = [(0, 1), (0, 2), (1, 2)]

    @Test("The archive's answer is told", arguments: paths, shards)
    func answers(path: String, shard: (Int, Int)) throws {
        let waiting = try Waiting(path, on: shard.0, of: shard.1)
        let answer = try waiting.answer(page)
        #expect(answer.status == 200)
        #expect(answer.body.contains(#""serial":2,"#))
        #expect(answer.body.contains("1700000000000"), "\(answer.body)")
    }

    @Test("An app that loses its recovery keeps no messages: 400", arguments: paths, shards)
    func withoutRecovery(path: String, shard: (Int, Int)) throws {
        let waiting = try Waiting(path, on: shard.0, of: shard.1)
        waiting.app.recovery.isEnabled = false
        waiting.reload([waiting.app])
        let answer = try waiting.answer(page)
        #expect(answer.status == 400)
        #expect(answer.body.hasPrefix("App 1 keeps no messages: recovery.enabled is false"))
    }

    @Test("An app that is removed is unknown: 404", arguments: paths, shards)
    func removed(path: String, shard: (Int, Int)) throws {
        let waiting = try Waiting(path, on: shard.0, of: shard.1)
        waiting.reload([AppConfiguration(id: "2", key: "second-key", secret: "second-secret")])
        let answer = try waiting.answer(page)
        #expect(answer.status == 404)
        #expect(answer.body.hasPrefix("No app has the ID 1"))
    }

    @Test("A file that cannot be read is told: 503", arguments: paths, shards)
    func unreadable(path: String, shard: (Int, Int)) throws {
        let answer = try Waiting(path, on: shard.0, of: shard.1).answer(nil)
        #expect(answer.status == 503 && answer.head.contains("Retry-After: 1"))
        #expect(answer.body.hasPrefix("The archive cannot be read at present"))
    }

    @Test(
        "A history is given up with its backend, a subscription with its client",
        arguments: shards
    )
    func givenUp(shard: (Int, Int)) throws {
        let waiting = try Waiting(Self.paths[0], on: shard.0, of: shard.1)
        let backend = try waiting.stepped.connect(to: shard.0)
        backend.send("GET /live HTTP/1.1\r\nHost: a\r\n\r\n")
        backend.send(SignedRequest(method: "GET", path: Self.paths[0]).text)
        waiting.stepped.settle()
        let history = try #require(waiting.archive.takeReads().last?.read)
        #expect(history.isWanted)
        // With an answer unread, its end is a reset: the end of its sending alone may be followed by the reading of answers.
        backend.close()
        waiting.stepped.turn { !history.isWanted }
        let client = try waiting.stepped.client(of: shard.0)
        let position = #"{"stream":"\#(Waiting.first.text)","serial":2}"#
        let data = #"{"channel":"a","position":\#(position)}"#
        client.send(Frames.text(#"{"event":"pusher:subscribe","data":\#(data)}"#))
        waiting.stepped.settle()
        let replay = try #require(waiting.archive.takeReads().first?.read)
        #expect(replay.isWanted)
        client.send(Frames.unsubscribe("a"))
        waiting.stepped.settle()
        #expect(!replay.isWanted)
    }

    @Test("Behind a purge the answer is of the stream that it began", arguments: paths, shards)
    func purged(path: String, shard: (Int, Int)) throws {
        let waiting = try Waiting(path, on: shard.0, of: shard.1)
        let purge = try waiting.stepped.connect()
        purge.send(SignedRequest(method: "DELETE", path: Self.paths[0]).text)
        waiting.stepped.settle()
        let answer = try waiting.answer(page)
        #expect(answer.status == 200)
        #expect(!answer.body.contains(Waiting.first.text) && !answer.body.contains("17000000"))
        let expected = path == Self.paths[0] ? #""messages":[]"# : #""verdict":"never_published""#
        #expect(answer.body.contains(expected), "\(answer.body)")
    }
}
