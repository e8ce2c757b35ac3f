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

    /// Changes those that were chosen, and says how many there were.
    ///
    /// - Parameters:
    ///   - file: Where they are.
    ///   - changeAll: Changes all of them, and returns how many.
    ///   - change: Changes one, and returns whether it is there.
    ///   - outcome: What to say of a number of them.
    /// - Throws: What went wrong with the file, those before being changed; `ExitCode.failure` when some that were named
    ///   are not there.
    func apply(
        in file: WebhookFile,
        all changeAll: (WebhookQueue) throws(WebhookQueueError) -> Int,
        each change: (WebhookQueue, Int64) throws(WebhookQueueError) -> Bool,
        outcome: (Int) -> String
    ) throws {
        let queue = try file.open()
        let count: Int
        do throws(WebhookQueueError) {
            count = all ? try changeAll(queue) : try self.count(in: queue, change)
        } catch {
            throw file.refusal(error)
        }
        Standard.print(outcome(count))
        if !all, count < Set(ids).count { throw ExitCode.failure }
    }

    /// Changes each that was named, reports those that are not there, and returns how many are.
    private func count(
        in queue: WebhookQueue,
        _ change: (WebhookQueue, Int64) throws(WebhookQueueError) -> Bool
    ) throws(WebhookQueueError) -> Int {
        var count = 0
        for id in Set(ids).sorted() {
            if try change(queue, id) {
                count += 1
            } else {
                Standard.report("fanfare: there is no dead letter \(id)")
            }
        }
        return count
    }
}
