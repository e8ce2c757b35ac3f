import Glibc

/// The descriptors of the process, of which each connection takes one.
enum Descriptors {
    /// How many may be open: the soft limit (getrlimit(2)).
    static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return .max
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// What becomes of a connection for which there is none, and what to do.
    static var shortage: String {
        "no descriptor is left, the connection is closed at once; raise the hard limit of \(limit) (ulimit -Hn, "
            + "LimitNOFILE= of systemd), or set a number"
    }
}
