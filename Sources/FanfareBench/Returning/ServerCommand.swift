import Glibc
import HTTPClient
import Net
import Synchronization

/// A server that the benchmark starts and ends.
final class ServerCommand: Sendable {
    private let arguments: [String]
    /// The running process; 0 without one.
    private let process = Atomic<pid_t>(0)

    private static let startTimeMax = Duration.seconds(30)

    /// Describes a server that is not started: the program, looked up in `PATH`, and its arguments.
    init(_ arguments: [String]) { self.arguments = arguments }

    /// Starts the process; its standard output is discarded, its standard error is this process's.
    func start() throws(BenchError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        var words = arguments.map { strdup($0) }
        words.append(nil)
        defer { for word in words { free(word) } }
        var id: pid_t = 0
        let code = posix_spawnp(&id, arguments[0], &actions, nil, words, environ)
        guard code == 0 else {
            throw .machine("\(arguments[0]) cannot be started: \(String(cString: strerror(code)))")
        }
        process.store(id, ordering: .relaxed)
    }

    /// Waits until the server accepts connections.
    func waitUntilListening(_ url: ServerURL) throws(BenchError) {
        let clock = ContinuousClock()
        let deadline = clock.now + Self.startTimeMax
        while ServerProcess(listeningOn: url.port) == nil {
            guard !hasEnded, clock.now < deadline else {
                throw .machine("\(arguments[0]) does not listen on port \(url.port).")
            }
            usleep(10_000)
        }
    }

    func end(kill: Bool) {
        let id = process.load(ordering: .relaxed)
        if id > 0 { Glibc.kill(id, kill ? SIGKILL : SIGTERM) }
    }

    var hasEnded: Bool {
        let id = process.load(ordering: .relaxed)
        guard id > 0 else { return true }
        var status: Int32 = 0
        guard waitpid(id, &status, WNOHANG) == id else { return false }
        process.store(0, ordering: .relaxed)
        return true
    }

    /// Kills the process and waits for its end.
    func kill() {
        let id = process.exchange(0, ordering: .relaxed)
        guard id > 0 else { return }
        Glibc.kill(id, SIGKILL)
        var status: Int32 = 0
        waitpid(id, &status, 0)
    }
}
