import ArgumentParser
import Webhooks

/// The dead letters that a command is about.
struct DeadLetterChoice: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "Their numbers, as \"fanfare webhooks list\" shows them.",
            valueName: "id"
        )
    )
    var ids: [Int64] = []

    @Flag(help: "All of them.")
    var all = false

    func validate() throws {
        if ids.isEmpty, !all {
            throw ValidationError("Name dead letters by their numbers, or --all.")
        }
        if !ids.isEmpty, all { throw ValidationError("Choose numbers or --all.") }
    }

    /// Does something to each that was named, and reports those that are not there.
    ///
    /// - Parameter change: Changes one, and returns whether it is there.
    /// - Returns: How many are there.
    /// - Throws: What went wrong with the file; those before are changed.
    func count(
        _ change: (Int64) throws(WebhookQueueError) -> Bool
    ) throws(WebhookQueueError) -> Int {
        var count = 0
        for id in Set(ids).sorted() {
            if try change(id) {
                count += 1
            } else {
                Standard.report("fanfare: there is no dead letter \(id)")
            }
        }
        return count
    }

    /// Ends with code 1 when some that were named are not there.
    func expect(_ count: Int) throws {
        if !all, count < Set(ids).count { throw ExitCode.failure }
    }
}
