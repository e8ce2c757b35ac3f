import PusherProtocol
import Testing

@testable import Broker

@Suite("What is known of a message of a stored channel") struct TracingTests {
    /// A stream of the archive with five messages, of which the last two are in memory.
    private func stream() throws -> ChannelStream {
        var settings = RecoverySettings()
        settings.rules = [
            RecoveryRule {
                $0.store = .archive
                $0.messagesMax = 2
            }
        ]
        var streams = Streams(seed: 7, retainedBytesMax: .max)
        streams.useArchive(RowNumbers(from: 5, shard: 0, of: 1), StreamSeeds(from: 1))
        let address = ChannelAddress(app: AppID("1"), name: try ChannelName("a"))
        let index = streams.open(address, settings, isVacant: false, at: 0)
        for time in 1...5 as ClosedRange<Int64> {
            _ = streams.append(Envelope(text: [7]), except: nil, to: index, at: time)
        }
        return streams[index]
    }

    @Test("The archive is asked for a released message that is not in memory")
    func queries() throws {
        let stream = try stream()
        for serial in [1, 2, 3] as [UInt64] {
            let query = try #require(stream.archiveQuery(forMessage: serial))
            #expect(query.row == stream.row)
            #expect(query.page.after == serial - 1 && query.page.before == serial + 1)
            #expect(query.page.limit == 1)
        }
        for serial in [0, 4, 5, 6, .max] as [UInt64] {
            #expect(stream.archiveQuery(forMessage: serial) == nil, "\(serial)")
        }
        #expect(
            ChannelStream(stream.id, of: stream.address, SharedRule(RecoveryRule(), of: 0))
                .archiveQuery(forMessage: 1) == nil
        )
    }

    @Test("Its time is that of the steady clock; without it nothing is known but the number")
    func answers() throws {
        let (stream, except) = (try stream(), try #require(SocketID("7.9")))
        let message = StoredMessage(
            serial: 2,
            time: 1_002,
            except: except,
            envelope: Envelope(text: [7])
        )
        let page = ArchivePage(messages: [message], oldest: 1)
        let found = stream.trace(2, in: page, calendarOffset: 1_000)
        let position = ChannelPosition(stream: stream.id, serial: 2)
        #expect(
            found == TracedMessage(position, last: 5, time: 2, published: 1_002, except: except)
        )
        let lost = stream.trace(2, in: ArchivePage(oldest: 3), calendarOffset: 1_000)
        #expect(lost == TracedMessage(position, last: 5, time: nil, published: nil) && !lost.isKept)
    }
}
