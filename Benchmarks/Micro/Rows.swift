import ArgumentParser
import Glibc
import LiveRows
import TestRandom

/// The differences between lists of rows, compared with the standard library's.
struct Rows: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compare our differences between lists of rows with the standard library's.",
        discussion: """
            Prints how many times as long the standard library takes (its difference, with moves \\
            inferred), our time, and how many row operations come out of both. Then what an \\
            operation by id costs, for which nothing is compared. CPU time, the least of several \\
            runs.
            """
    )

    @Flag(help: "Leave out what takes the standard library seconds.")
    var quick = false

    func run() throws {
        for count in [10_000, 100_000] {
            print(
                padded("\nn = \(count)", to: 36) + padded("stdlib ÷ ours", to: 15, left: true)
                    + padded("ours, ms", to: 12, left: true) + "   operations, stdlib / ours"
            )
            for example in RowExample.all(count: count) where !(quick && example.isLong) {
                report(example)
            }
        }
        print("\nAn operation by id, µs")
        for count in [1000, 10_000, 100_000] {
            progress("an operation by id, \(count) rows")
            report(KeyedCost(count: count))
        }
    }

    private func report(_ example: RowExample) {
        progress(example.name)
        var ours = RowChanges()
        let time = leastTime(budget: 0.5) {
            do { ours = try rowChanges(from: example.old, to: example.new) } catch {
                fail("\(error)")
            }
        }
        var theirs = 0
        let theirTime = leastTime(budget: example.isLong ? 0 : 0.5) {
            theirs = example.new.difference(from: example.old).inferringMoves().count
        }
        progress("")
        let count = ours.moves.count
        let moves = count == 0 ? "" : " (\(count) \(count == 1 ? "move" : "moves"))"
        print(
            padded(example.name, to: 35) + padded(rounded(theirTime / time), to: 15, left: true)
                + padded(thousandths(time * 1e3), to: 12, left: true)
                + "   \(theirs) / \(ours.operationCount)\(moves)"
        )
    }

    private func report(_ cost: KeyedCost) {
        progress("")
        print(
            padded("\(cost.count) rows", to: 16) + "move \(thousandths(cost.move * 1e6))"
                + "   move while the rows before are kept \(thousandths(cost.keptMove * 1e6))"
                + "   update \(thousandths(cost.update * 1e6))"
        )
    }

    private func thousandths(_ value: Double) -> String {
        "\((value * 1000).rounded() / 1000)"
    }

    /// Shows the current measurement on a terminal; a pipe gets only the table.
    private func progress(_ what: String) {
        guard isatty(STDERR_FILENO) == 1 else { return }
        let line = Array("\r\u{1B}[K\(what.isEmpty ? "" : "measuring \(what) …")".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}

/// Two lists to compare.
private struct RowExample {
    struct Row: Identifiable, Hashable {
        var id: Int
        var name: String
    }

    let name: String
    let old: [Row]
    let new: [Row]
    /// Whether the standard library takes seconds.
    var isLong = false

    static func all(count: Int) -> [RowExample] {
        let old = (0..<count).map { Row(id: $0, name: "Person \($0)") }
        let fresh = (count..<(2 * count)).map { Row(id: $0, name: "Person \($0)") }
        var random = SeededRandom(seed: 1)
        var examples = [
            RowExample(name: "identical", old: old, new: old.map { Row(id: $0.id, name: $0.name) }),
            RowExample(name: "append 1", old: old, new: old + [fresh[0]]),
            RowExample(
                name: "move last to first",
                old: old,
                new: [old[count - 1]] + old.dropLast()
            ),
            RowExample(name: "move first to last", old: old, new: old.dropFirst() + [old[0]]),
            mixed("5 deleted, 5 inserted", old, fresh, changed: 5, moved: 0, &random),
            mixed(
                "1 % / 1 % / 0.2 % moved",
                old,
                fresh,
                changed: count / 100,
                moved: count / 500,
                &random
            ),
        ]
        var long = mixed(
            "10 % / 10 % / 2 % moved",
            old,
            fresh,
            changed: count / 10,
            moved: count / 50,
            &random
        )
        long.isLong = count > 10_000
        examples.append(long)
        guard count == 10_000 else { return examples }
        return examples + [
            RowExample(name: "reversed", old: old, new: old.reversed(), isLong: true),
            RowExample(name: "shuffled", old: old, new: old.shuffled(using: &random), isLong: true),
            RowExample(name: "everything replaced", old: old, new: fresh, isLong: true),
        ]
    }

    private static func mixed(
        _ name: String,
        _ old: [Row],
        _ fresh: [Row],
        changed: Int,
        moved: Int,
        _ random: inout SeededRandom
    ) -> RowExample {
        var new = old
        for _ in 0..<changed { new.remove(at: Int.random(in: 0..<new.count, using: &random)) }
        for _ in 0..<moved {
            let row = new.remove(at: Int.random(in: 0..<new.count, using: &random))
            new.insert(row, at: Int.random(in: 0...new.count, using: &random))
        }
        for row in fresh.prefix(changed) {
            new.insert(row, at: Int.random(in: 0...new.count, using: &random))
        }
        return RowExample(name: name, old: old, new: new)
    }
}

/// The costs of operations by ID in a list of so many rows, in seconds.
private struct KeyedCost {
    let count: Int
    let move: Double
    let keptMove: Double
    let update: Double

    init(count: Int) {
        self.count = count
        let made = (0..<count).map { RowExample.Row(id: $0, name: "Person \($0)") }
        guard var rows = try? KeyedRows(made) else { fail("the ids are not different") }
        var random = SeededRandom(seed: 1)
        let ids = (0..<1000).map { _ in
            (Int.random(in: 0..<count, using: &random), Int.random(in: 0..<count, using: &random))
        }
        let calls = Double(ids.count)
        move =
            leastTime(budget: 0.3) {
                for (id, anchor) in ids { rows.apply(.move(id, after: anchor)) }
            } / calls
        keptMove =
            leastTime(budget: 0.3) {
                for (id, anchor) in ids {
                    let before = rows.list
                    rows.apply(.move(id, after: anchor))
                    consume(before.count)
                }
            } / calls
        var version = 0
        update =
            leastTime(budget: 0.3) {
                version += 1
                for (id, _) in ids {
                    rows.apply(.update(RowExample.Row(id: id, name: "Person \(version)")))
                }
            } / calls
    }
}

/// Returns the least CPU time of several runs, in seconds; makes at least one run.
private func leastTime(budget: Double, _ body: () -> Void) -> Double {
    var least = Double.infinity
    var spent = 0.0
    repeat {
        let start = threadTime()
        body()
        let time = threadTime() - start
        least = min(least, time)
        spent += time
    } while spent < budget
    return least
}

private func threadTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
