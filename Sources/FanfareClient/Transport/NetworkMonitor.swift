#if canImport(Network)
    import Dispatch
    import Network
#elseif os(Linux)
    import Net
#endif
import Primitives

/// Observes the machine's network.
///
/// It uses `NWPathMonitor` on Apple platforms and the kernel's routing messages on Linux; elsewhere it observes
/// nothing.
struct NetworkMonitor: Sendable {
    /// Calls the closure after each change until the returned object is released; `nil` if changes cannot be observed.
    let observe: @Sendable (_ changed: @escaping @Sendable () -> Void) -> (any Sendable)?

    /// The network of this machine.
    static let system = NetworkMonitor { changed in
        #if canImport(Network)
            PathObserver(changed)
        #elseif os(Linux)
            try? NetworkChanges.shared.observe(changed)
        #else
            nil
        #endif
    }
}

#if canImport(Network)
    /// A path monitor that ends when it is released.
    private final class PathObserver: Sendable {
        private let monitor = NWPathMonitor()

        init(_ changed: @escaping @Sendable () -> Void) {
            let isFirst = Lock(true)
            monitor.pathUpdateHandler = { _ in
                // The first call reports the current path.
                guard !isFirst.exchange(false) else { return }
                changed()
            }
            monitor.start(queue: .global())
        }

        deinit { monitor.cancel() }
    }
#endif
