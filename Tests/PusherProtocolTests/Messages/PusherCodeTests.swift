import PusherProtocol
import Testing

@Suite("Error and close codes") struct PusherCodeTests {
    static let all: [PusherCode] = [
        .appOnlyTLS, .appDoesNotExist, .appDisabled, .overConnectionQuota, .pathNotFound,
        .invalidVersion, .unsupportedVersion, .noVersion, .unauthorized, .overCapacity,
        .reconnectImmediately, .pongNotReceived, .closedAfterInactivity, .clientEventRejected,
        .watchlistLimitExceeded,
    ]

    @Test func haveTheDocumentedNumbers() {
        #expect(
            Self.all.map(\.rawValue) == [
                4000, 4001, 4003, 4004, 4005, 4006, 4007, 4008, 4009, 4100, 4200, 4201, 4202, 4301,
                4302,
            ]
        )
    }

    @Test(arguments: [
        (1000, PusherCode.Reconnection.backOff), (1006, .backOff), (3999, .backOff),
        (4000, .never), (4001, .never), (4002, .never), (4099, .never), (4100, .backOff),
        (4199, .backOff), (4200, .immediately), (4202, .immediately), (4299, .immediately),
        (4300, .backOff), (4301, .backOff), (4999, .backOff),
    ])
    func sayHowToReconnect(code: Int, reconnection: PusherCode.Reconnection) {
        #expect(PusherCode(rawValue: code).reconnection == reconnection)
    }

    @Test func neverCloseWith43xx() {
        for code in Self.all { #expect(code.mayClose == (code.rawValue < 4300)) }
        #expect(!PusherCode(rawValue: 1000).mayClose)
    }

    @Test("A reason fits in a close frame, RFC 6455 §5.5")
    func haveShortMessages() {
        for code in Self.all + [PusherCode(rawValue: 4999)] {
            #expect((1...123).contains(code.message.utf8.count))
            #expect(code.description.hasPrefix("\(code.rawValue) "))
        }
    }
}
