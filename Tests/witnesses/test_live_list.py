"""The JavaScript of live lists, tried by random schedules in a real browser."""

import pytest

from programs import Demos


@pytest.fixture(scope="module")
def page(browsers, broker):
    with Demos(broker.port) as demos:
        browsers[0].open(demos.url + "/films/")
        yield browsers[0]


# A generator of numbers that a seed repeats.
RANDOM = """
    let state = seed;
    const below = (limit) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor(state / 2 ** 32 * limit);
    };
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_batch_leads_from_one_order_to_the_other_by_the_rules_of_table_views(page, seed):
    page.run(
        """
        const { rowChanges } = await import("/fanfare-live.js");
        const seed = given[0];"""
        + RANDOM
        + """
        // A longest run in order, by trying each row as its last.
        function longest(numbers) {
            const lengths = [];
            numbers.forEach((number, index) => {
                const before = lengths.filter((_, other) => numbers[other] < number);
                lengths.push(1 + Math.max(0, ...before));
            });
            return Math.max(0, ...lengths);
        }
        for (let round = 0; round < 3000; round += 1) {
            const pick = () => {
                const ids = Array.from({ length: 12 }, (_, id) => id).filter(() => below(3) > 0);
                for (let swaps = below(8); swaps > 0 && ids.length; swaps -= 1) {
                    const [first, second] = [below(ids.length), below(ids.length)];
                    [ids[first], ids[second]] = [ids[second], ids[first]];
                }
                return ids.map((id) => ({ id, text: below(4) }));
            };
            const before = pick(), after = pick();
            const isSame = (row, other) => row.text === other.text;
            const { deletes, inserts, moves, updates } = rowChanges(before, after, isSame);

            // As a table does it: take out what goes and what moves, put in what comes, by the indices afterwards.
            const result = before.map(({ id, text }) => ({ id, text }));
            const gone = [...deletes, ...moves.map(({ from }) => from)];
            if (new Set(gone).size !== gone.length) throw new Error("a row is named twice");
            for (const index of gone.sort((a, b) => b - a)) result.splice(index, 1);
            const come = [
                ...inserts.map((to) => [to, { ...after[to] }]),
                ...moves.map(({ from, to }) => [to, { ...before[from] }]),
            ].sort(([a], [b]) => a - b);
            for (const [to, row] of come) result.splice(to, 0, row);
            for (const index of updates) result[index].text = after[index].text;
            if (JSON.stringify(result) !== JSON.stringify(after)) {
                throw new Error(`${JSON.stringify(before)} -> ${JSON.stringify(after)}: ${JSON.stringify(result)}`);
            }
            const kept = after.map(({ id }) => before.findIndex((row) => row.id === id)).filter((index) => index >= 0);
            if (moves.length !== kept.length - longest(kept)) throw new Error("more moves than are needed");
        }
        """,
        seed,
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_pages_converge_whatever_happens_on_the_way(page, seed):
    """Three pages, late and lost and repeated events, lost answers, repeated edits, and loads at any moment."""
    page.run(
        """
        const { ListModel, applied, put, move, update, remove } = await import("/fanfare-live.js");
        const seed = given[0];"""
        + RANDOM
        + """
        for (let round = 0; round < 400; round += 1) {
            const server = { revision: 0, rows: [{ id: 0 }], mutations: new Map() };
            const snapshot = () => ({ revision: server.revision, rows: server.rows });
            const pages = Array.from({ length: 3 }, () => ({ model: new ListModel(), events: [], answers: [] }));
            let nextID = 1;

            function commit({ mutation, operations }) {
                if (server.mutations.has(mutation)) return server.mutations.get(mutation);
                server.revision += 1;
                // What is told was done: an anchor that is gone is one that is there.
                const done = [];
                for (const operation of operations) {
                    const id = operation.id ?? operation.row.id;
                    if (operation.op !== "put" && !server.rows.some((row) => row.id === id)) continue;
                    server.rows = applied(server.rows, operation);
                    const index = server.rows.findIndex((row) => row.id === id);
                    const after = server.rows[index - 1]?.id ?? null;
                    done.push("after" in operation ? { ...operation, after } : operation);
                }
                server.mutations.set(mutation, server.revision);
                const change = { revision: server.revision, mutation, operations: done };
                for (const page of pages) {
                    if (below(10) > 0) page.events.push(change);
                    if (below(10) === 0) page.events.push(change);
                }
                return server.revision;
            }

            function operation(rows) {
                const any = () => rows[below(rows.length)]?.id ?? null;
                const anchor = below(2) ? any() : null;
                if (rows.length === 0 || below(3) === 0) return put({ id: nextID += 1 }, anchor);
                const id = any();
                return [move(id, anchor), update({ id, text: below(100) }), remove(id)][below(3)];
            }

            const steps = {
                edit({ model }) {
                    if (model.revision === null) return;
                    model.edit(Array.from({ length: 1 + below(3) }, () => operation(model.rows)));
                },
                // The answer may get lost; then the edit is sent again.
                send(page) {
                    const edit = page.model.unanswered[0];
                    if (!edit) return;
                    const revision = commit(edit);
                    if (below(3) > 0) page.model.confirm(edit, revision);
                },
                receive(page) {
                    if (page.events.length) page.model.receive(page.events.shift());
                },
                receiveOutOfOrder(page) {
                    if (page.events.length) page.model.receive(page.events.splice(below(page.events.length), 1)[0]);
                },
                ask(page) {
                    page.answers.push([page.model.mark(), snapshot()]);
                },
                load(page) {
                    const answer = page.answers.shift();
                    if (answer) page.model.replace(answer[1], answer[0]);
                },
            };
            const names = Object.keys(steps);
            for (let step = 0; step < 150; step += 1) steps[names[below(names.length)]](pages[below(3)]);

            // Everything gets through in the end, and whoever misses something loads.
            for (const page of pages) while (page.model.unanswered.length) steps.send(page);
            for (const page of pages) {
                while (page.events.length) steps.receive(page);
                page.answers = [];
                steps.ask(page);
                steps.load(page);
                const shown = JSON.stringify(page.model.rows), truth = JSON.stringify(server.rows);
                if (shown !== truth) throw new Error(`round ${round}: ${shown} instead of ${truth}`);
                if (page.model.hasGap || page.model.pendingIDs.size) throw new Error(`round ${round}: not at rest`);
            }
        }
        """,
        seed,
    )
