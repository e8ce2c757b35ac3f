import Glibc

/// The limit of open descriptors: each connection takes one.
package enum DescriptorLimit {
    /// How many may be open: the soft limit (getrlimit(2)).
    package static var current: Int { read().map { Int(clamping: $0.rlim_cur) } ?? .max }

    /// Raises the soft limit to the hard one (getrlimit(2)), which needs no privilege.
    ///
    /// - Returns: The limit from now on.
    @discardableResult package static func raise() -> UInt64 {
        guard let limit = read() else { return 0 }
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0
        return UInt64(isRaised ? raised.rlim_cur : limit.rlim_cur)
    }

    private static func read() -> rlimit? {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? limit : nil
    }
}
