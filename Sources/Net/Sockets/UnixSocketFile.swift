import Glibc

/// The file that a listening Unix-domain socket leaves behind, and who may remove it.
struct UnixSocketFile {
    let path: String
    /// The file's own identity: by the time we close, another program may listen at the path.
    private let device: dev_t
    private let inode: ino_t

    /// Remembers the file that was just bound; nil if it is gone already.
    init?(path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        (device, inode) = (status.st_dev, status.st_ino)
    }

    /// Removes the file, unless another has taken its place.
    func remove() {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else {
            return
        }
        unlink(path)
    }

    /// Removes the socket file of a listener that has died; leaves one that is alive, and other files.
    static func removeStale(at address: SocketAddress, path: String) throws(SystemError) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
        let probe = try Socket.make(AF_UNIX)
        let result = try address.withRaw { Glibc.connect(probe.raw, $0, $1) }
        let code = errno
        // Only a refusal says that nobody listens; a full backlog (EAGAIN) says the opposite.
        if result != 0 && code == ECONNREFUSED { unlink(path) }
    }
}
