import Foundation

extension Pipe {
    /// The bytes that come next; none at the end.
    ///
    /// Foundation's own reading ends the whole process when a signal comes between.
    func nextBytes() -> Data {
        var bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(fileHandleForReading.fileDescriptor, &bytes, bytes.count)
            if count >= 0 { return Data(bytes[..<count]) }
            guard errno == EINTR else { return Data() }
        }
    }
}
