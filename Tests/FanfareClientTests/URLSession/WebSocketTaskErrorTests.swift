import Foundation
import Testing

@testable import FanfareClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Errors of a WebSocket task") struct WebSocketTaskErrorTests {
    private func closure(
        _ domain: String,
        _ code: Int,
        isOpen: Bool = false,
        status: Int? = nil,
        underlying: NSError? = nil
    ) -> TransportClosure {
        var info: [String: Any] = [:]
        if let underlying { info[NSUnderlyingErrorKey] = underlying }
        return WebSocketTaskError.closure(
            for: NSError(domain: domain, code: code, userInfo: info),
            isOpen: isOpen,
            status: status,
            request: .toBroker()
        )
    }

    private func kind(_ closure: TransportClosure) -> String {
        switch closure {
        case .closeFrame: "close frame"
        case .cut: "cut"
        case .unreachable: "unreachable"
        case .untrusted: "untrusted"
        case .proxyFailed: "proxy"
        case .upgradeRefused: "refused"
        case .protocolViolation: "violation"
        }
    }

    @Test func beforeItIsOpen() {
        let cases: [(Int, String)] = [
            (NSURLErrorCannotFindHost, "unreachable"),
            (NSURLErrorCannotConnectToHost, "unreachable"),
            (NSURLErrorTimedOut, "unreachable"), (NSURLErrorNotConnectedToInternet, "unreachable"),
            (NSURLErrorSecureConnectionFailed, "unreachable"), (-1022, "unreachable"),
            (NSURLErrorServerCertificateUntrusted, "untrusted"),
            (NSURLErrorServerCertificateHasBadDate, "untrusted"),
            (NSURLErrorServerCertificateHasUnknownRoot, "untrusted"),
            (NSURLErrorServerCertificateNotYetValid, "untrusted"),
            (NSURLErrorBadServerResponse, "refused"),
        ]
        for (code, expected) in cases {
            let closure = closure(NSURLErrorDomain, code)
            #expect(kind(closure) == expected, "\(code): \(closure)")
            #expect("\(closure)".contains("\(code)"))
            #expect(kind(self.closure(NSURLErrorDomain, code, isOpen: true)) == "cut")
        }
        #expect("\(closure(NSURLErrorDomain, NSURLErrorTimedOut))".contains("timed out"))
        #expect("\(closure(NSURLErrorDomain, -1022))".contains("Info.plist"))
        #expect(kind(closure("x", 1)) == "unreachable")
    }

    @Test func byTheAnswer() {
        let answer = closure(NSURLErrorDomain, NSURLErrorBadServerResponse, status: 404)
        #expect(
            answer == .upgradeRefused(reason: "The server answered with status 404 instead of 101.")
        )
        #expect(
            kind(closure(NSURLErrorDomain, NSURLErrorBadServerResponse, status: 407)) == "proxy"
        )
    }

    @Test func byTheProxy() {
        let cause = NSError(domain: "kCFErrorDomainCFNetwork", code: 310)
        for closure in [
            closure("kCFErrorDomainCFNetwork", 306),
            closure(NSURLErrorDomain, NSURLErrorCannotConnectToHost, underlying: cause),
        ] {
            #expect(kind(closure) == "proxy")
            #expect("\(closure)".contains("ClientOptions.network.proxy"))
        }
    }

    @Test func byALongMessage() {
        let cause = NSError(domain: NSPOSIXErrorDomain, code: Int(POSIXErrorCode.EMSGSIZE.rawValue))
        for closure in [
            closure(NSPOSIXErrorDomain, cause.code, isOpen: true),
            closure(NSURLErrorDomain, -1, isOpen: true, underlying: cause),
        ] {
            #expect(kind(closure) == "violation")
            #expect("\(closure)".contains("1000 bytes"))
        }
    }
}
