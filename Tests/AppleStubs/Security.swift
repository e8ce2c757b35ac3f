// The declarations of the framework that the sources use; see README.md.
// swift-format-ignore-file

@_exported public import Foundation
// Part of Foundation on Apple platforms.
@_exported public import FoundationNetworking

public class SecTrust {}
public class SecCertificate {}
public typealias OSStatus = Int32
public typealias CFData = NSData
public let errSecSuccess: OSStatus = 0

public func SecCertificateCreateWithData(_ allocator: Never?, _ data: CFData) -> SecCertificate? { nil }
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { NSData() }
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchors: CFArray?) -> OSStatus { 0 }
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ only: Bool) -> OSStatus { 0 }
public func SecTrustEvaluateWithError(
    _ trust: SecTrust,
    _ error: UnsafeMutablePointer<CFError?>?
) -> Bool { true }
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { nil }

public class CFError: Error, @unchecked Sendable {}
public func CFErrorCopyDescription(_ error: CFError) -> CFString { NSString() }
public typealias CFString = NSString
public typealias CFArray = NSArray

extension URLProtectionSpace {
    public var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    public convenience init(trust: SecTrust) {
        self.init(user: "", password: "", persistence: .none)
    }
}

extension URLSession {
    public struct AsyncBytes: AsyncSequence, Sendable {
        public struct Iterator: AsyncIteratorProtocol {
            public mutating func next() async throws -> UInt8? { nil }
        }
        public func makeAsyncIterator() -> Iterator { Iterator() }
    }
    public func bytes(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) { fatalError() }
}

public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
