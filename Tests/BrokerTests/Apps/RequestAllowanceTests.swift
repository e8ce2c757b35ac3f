import PusherProtocol
import Testing

@testable import Broker

@Suite("Rate limits of requests") struct RequestAllowanceTests {
    private func refusal(
        _ allowance: RequestAllowance,
        _ kind: RequestAllowance.Kind,
        at now: Int64 = 0
    ) -> Limit? {
        do throws(RequestAllowance.Refusal) {
            try allowance.take(kind, at: now)
            return nil
        } catch {
            return error.limit
        }
    }

    @Test func withoutRatesThereIsNoLimit() {
        let allowance = RequestAllowance(RequestRates())
        for _ in 0..<1_000 { #expect(refusal(allowance, .trigger) == nil) }
    }

    @Test("A kind beyond its limit does not consume the common rate")
    func ofOneKind() {
        let rates = RequestRates(all: Rate(perSecond: 3), triggers: Rate(perSecond: 1))
        let allowance = RequestAllowance(rates)
        #expect(refusal(allowance, .trigger) == nil)
        for _ in 0..<10 { #expect(refusal(allowance, .trigger) == .triggerRate) }
        #expect(refusal(allowance, .query) == nil)
        #expect(refusal(allowance, .termination) == nil)
        #expect(refusal(allowance, .query) == .requestRate)
        #expect(refusal(allowance, .trigger, at: 1_000_000_000) == nil)
    }

    @Test(
        "Each kind has its own rate",
        arguments: [
            (RequestAllowance.Kind.trigger, Limit.triggerRate), (.query, .queryRate),
            (.termination, .terminationRate),
        ]
    )
    func kinds(kind: RequestAllowance.Kind, limit: Limit) {
        let one = Rate(perSecond: 1)
        let allowance = RequestAllowance(
            RequestRates(triggers: one, queries: one, terminations: one)
        )
        #expect(refusal(allowance, kind) == nil)
        #expect(refusal(allowance, kind) == limit)
        for other in [RequestAllowance.Kind.trigger, .query, .termination] where other != kind {
            #expect(refusal(allowance, other) == nil)
        }
    }
}
