# The Swift tests that run in separate groups; read by test.sh and sanitize.sh.

# Beside a thousand others, tests with short timeouts, or with readers that must keep up, would wait for a core instead of the
# broker, and tests that attack or flood a broker would delay the rest.
readonly timed='FanfareServerTests\.OverloadTests|LivenessConformanceTests|AuthorizationDeadlinesTests|CacheChannelTests|StoppingTests|WatchlistTests|WebhookLifeTests|NetTests\.EventLoopTests'
readonly limits='(Admission|Archive|Cluster|Inbound|Length|Quantity|Queue|Rate|Recovery|Store|Time|Webhook)Limit'
readonly hostile="FanfareServerTests\\.(Hostile|ControlFrame|HalfOpen|Slow|Crowd|$limits)Tests"
# These start programs, the first two with Foundation's Process, which has crashed beside the descriptors and signals of other
# tests; and they take a core each, so that all at once would exceed their time limits.
readonly programs='FanfareCommandTests\.' benches='FanfareBenchTests\.|AppleStubsTests' servers='RedisTests\.'
# With Valkey instead of Redis: the scripts, and what nodes do with them.
readonly valkey='RedisTests\.(\w+Script|RedisServer|Failover|Sentinel|ModelSentinel)Tests|FanfareServerTests\.(Cluster(Event|Query|Recovery|Presence|Session|Sentinel)|CleanFailover)Tests'
# Simulated time advances only on request, so a close must take effect at once, not when a child process started
# concurrently closes its inherited descriptors: one at a time. What has a store takes half the time of all.
readonly simulation='SimulationTests\.' store_simulation='SimulationTests\.(Cluster|Archive)'
# A message to a callback passes through several tasks, each behind those of all other tests in the process: the modules
# with the most tests run in two groups of their own.
readonly clients='(Fanfare(Client|API|Testing|UI)|PusherSwift|PusherSwiftMode5)Tests\.'
readonly server='FanfareServerTests\.'
