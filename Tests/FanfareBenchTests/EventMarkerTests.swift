import PusherProtocol
import Testing

@testable import FanfareBench

@Suite("Marker of a benchmark's event") struct EventMarkerTests {
    private func find(_ text: String, _ scanner: inout EventMarkerScanner) -> EventMarker? {
        let bytes = Array(text.utf8)
        return scanner.find(in: bytes.span)
    }

    private func text(_ marker: EventMarker) -> String {
        String(decoding: marker.data(length: 32), as: UTF8.self)
    }

    @Test func isWrittenInHexadecimalDigits() {
        let marker = EventMarker(run: 0xAB_CDEF, sequence: 0x12, sentAt: 0x0123_4567_89AB_CDEF)
        #expect(text(marker) == "@-abcdef000000120123456789abcdef")
    }

    @Test func fillsTheDataUpToItsLength() {
        let marker = EventMarker(run: 1, sequence: 2, sentAt: 3)
        for length in 32...200 {
            let data = marker.data(length: length)
            #expect(data.count == length)
            // The filler needs no escaping in a JSON string.
            #expect(data.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C })
        }
    }

    @Test func isAUserID() {
        let data = EventMarker(run: 0xAB_CDEF, sequence: 2, sentAt: .max).data(
            length: EventMarker.length
        )
        #expect(isUserID(data))
    }

    private func isUserID(_ id: [UInt8]) -> Bool { ChannelName.isValidUserID(id.span) }

    @Test func isFoundAtAnyOffset() {
        let marker = EventMarker(run: 7, sequence: 41, sentAt: 1_000)
        var scanner = EventMarkerScanner(run: 7)
        for count in [0, 1, 7, 8, 40, 3, 0, 40] {
            let before = String(repeating: "@", count: count)
            #expect(find(before + text(marker), &scanner) == marker)
            #expect(find(before + text(marker) + "…", &scanner) == marker)
        }
    }

    @Test func isParsedAgainWhenItChanges() {
        var scanner = EventMarkerScanner(run: 0xFF_FFFF)
        for sequence in [0, 1, 1, 2, UInt32.max, 0] {
            for sentAt in [0, 5, Int64.max, 5] {
                let marker = EventMarker(run: 0xFF_FFFF, sequence: sequence, sentAt: sentAt)
                #expect(find(text(marker), &scanner) == marker)
            }
        }
    }

    @Test func ofAnotherRunIsIgnored() {
        var scanner = EventMarkerScanner(run: 1)
        #expect(find(text(EventMarker(run: 2, sequence: 0, sentAt: 0)), &scanner) == nil)
        // Also at the offset where one of this run was found.
        let own = EventMarker(run: 1, sequence: 0, sentAt: 0)
        #expect(find(text(own), &scanner) == own)
        #expect(find(text(EventMarker(run: 2, sequence: 0, sentAt: 0)), &scanner) == nil)
    }

    @Test(arguments: [
        "", "@-", "@-000001", "@-00000100000000000000000000000",
        "@-000001000000000000000G00000000", "@-000001-0000000000000000000000000",
        #"{"event":"pusher:ping","data":"{}"}"#,
    ])
    func isNotFoundIn(_ message: String) {
        var scanner = EventMarkerScanner(run: 1)
        #expect(find(message, &scanner) == nil)
    }
}
