import CLinux
import COpenSSL
import Glibc

/// An OpenSSL BIO over a descriptor that it does not own.
///
/// OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE when the connection is lost. This one
/// sends with MSG_NOSIGNAL, and stores only the descriptor's number.
enum DescriptorBIO {
    /// Makes a BIO over `fd`; the SSL that gets it frees it.
    static func make(_ fd: Int32) throws(TLSError) -> OpaquePointer {
        let bio = try TLSError.check(BIO_new(method.raw), "BIO_new")
        move(bio, to: fd)
        BIO_set_init(bio, 1)
        return bio
    }

    /// Makes a BIO use another descriptor.
    static func move(_ bio: OpaquePointer?, to fd: Int32) {
        BIO_set_data(bio, UnsafeMutableRawPointer(bitPattern: Int(fd)))
    }

    /// SAFETY: `@unchecked Sendable`: made once, by a static's initialiser, and only read thereafter.
    private struct Method: @unchecked Sendable {
        let raw: OpaquePointer?
    }

    private static let method: Method = {
        let raw = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "descriptor")
        BIO_meth_set_write(raw) { bio, bytes, count in
            shim_BIO_clear_retry(bio)
            while true {
                let sent = send(descriptor(of: bio), bytes, Int(count), Socket.sendFlags)
                if sent >= 0 { return Int32(sent) }
                switch errno {
                case EINTR: continue
                case EAGAIN, ENOBUFS: shim_BIO_retry_write(bio)
                default: break
                }
                return -1
            }
        }
        BIO_meth_set_read(raw) { bio, bytes, count in
            shim_BIO_clear_retry(bio)
            while true {
                let received = recv(descriptor(of: bio), bytes, Int(count), 0)
                if received >= 0 { return Int32(received) }
                switch errno {
                case EINTR: continue
                case EAGAIN: shim_BIO_retry_read(bio)
                default: break
                }
                return -1
            }
        }
        BIO_meth_set_ctrl(raw) { _, command, _, _ in
            // There is nothing to flush, but the call has to succeed.
            command == BIO_CTRL_FLUSH ? 1 : 0
        }
        return Method(raw: raw)
    }()
}

private func descriptor(of bio: OpaquePointer?) -> Int32 {
    Int32(truncatingIfNeeded: Int(bitPattern: BIO_get_data(bio)))
}
