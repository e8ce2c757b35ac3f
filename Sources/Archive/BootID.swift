internal import Glibc

/// The identity of a machine's start (proc(5), `random/boot_id`).
package enum BootID {
    /// The ID of the present start; empty if there is none.
    package static var current: String {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        return String(text.prefix { $0 != "\n" })
    }
}
