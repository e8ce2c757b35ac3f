import Glibc

/// The limit of open descriptors: each connection takes one.
enum DescriptorLimit {
    /// Raises the soft limit to the hard one (getrlimit(2)), which needs no privilege.
    ///
    /// - Returns: The limit from now on.
    @discardableResult static func raise() -> UInt64 {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0
        return UInt64(isRaised ? raised.rlim_cur : limit.rlim_cur)
    }
}
