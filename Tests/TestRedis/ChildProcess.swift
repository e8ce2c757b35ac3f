import Foundation
import Glibc

/// A program that runs beside the tests and ends with its standard input.
///
/// Foundation's `Process` waits on a run loop, which has crashed, and spun without end, beside the descriptors and signals of
/// hundreds of other tests.
final class ChildProcess {
    /// A call that failed, with its error number.
    struct Failure: Error {
        let call: String
        let code: Int32
    }

    private let id: pid_t
    private var standardInput: Int32?
    private var hasEnded = false

    /// Starts a program, with `/dev/null` for its output and no descriptors but the first three.
    ///
    /// - Parameters:
    ///   - program: The path.
    ///   - arguments: What follows its name.
    ///   - environment: Its variables, such as `PATH=/bin`.
    /// - Throws: A ``Failure``.
    init(_ program: String, _ arguments: [String], environment: [String]) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(call: "pipe", code: errno) }
        _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
        for output in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
        }
        for descriptor in try Self.descriptorsToClose() {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for text in words + variables { free(text) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, program, &actions, nil, &words, &variables)
        guard code == 0 else {
            close(ends[1])
            throw Failure(call: "posix_spawn", code: code)
        }
        (self.id, standardInput) = (id, ends[1])
    }

    /// The descriptors that the program must not keep open, and some that other threads may open meanwhile.
    private static func descriptorsToClose() throws -> Range<Int32> {
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return STDERR_FILENO + 1..<(open.compactMap { Int32($0) }.max() ?? STDERR_FILENO) + 256
    }

    deinit { end() }

    var isRunning: Bool {
        if !hasEnded { hasEnded = waitpid(id, nil, WNOHANG) != 0 }
        return !hasEnded
    }

    /// Closes the standard input, and waits until the program has ended.
    func end() {
        if let input = standardInput { close(input) }
        standardInput = nil
        while !hasEnded { hasEnded = waitpid(id, nil, 0) == id || errno != EINTR }
    }
}
