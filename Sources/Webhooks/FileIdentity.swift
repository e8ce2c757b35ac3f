internal import Glibc

/// Which file a path or a descriptor leads to: its device and inode, as stat(2) has them.
struct FileIdentity: Equatable, Sendable {
    private let device: UInt
    private let inode: UInt

    /// Looks a path up, following symbolic links; `nil` when there is no such file.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Identifies an open file.
    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
    }
}
