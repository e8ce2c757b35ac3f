"""What is measured: each scenario is a name and a load generator's arguments."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scenario:
    name: str
    question: str
    arguments: str
    #: Whether a second variant of the broker (more loops, say) is of interest.
    variants: bool = False
    #: Whether it is about brokers alone: the limit and the peers have nothing like it.
    brokers_only: bool = False
    #: Settings of the broker, which is started anew for it.
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def tls(self) -> bool:
        return "tls" in self.name

    @property
    def deflate(self) -> bool:
        return "deflate" in self.name

    @property
    def idle(self) -> bool:
        return self.name.startswith("idle")

    @property
    def overload(self) -> bool:
        """Whether `fanfare bench overload` loads the server, in the place of wsload."""
        return self.name.startswith("overload")

    @property
    def fresh(self) -> bool:
        """Whether each run has a process of its own, whose memory is measured."""
        return self.idle or self.overload


#: What an overloaded broker may hold in queues, in MiB.
OVERLOAD_MIB = 64

#: Subscribers that track their position: the broker numbers and keeps each message.
TRACKED = "--recovery position"


def fan(count: int, size: str, kind: str, pace: str, variants: bool = False) -> Scenario:
    bytes_ = {"64": 64, "1k": 1024}[size]
    questions = {
        "one": "one message at a time: the cost of a send",
        "sat": "saturation, 8 messages outstanding: does what is pending leave in one send?",
        "rate": "a fixed rate: latency, and the cost of waking up",
        "tls": "saturation over TLS 1.3",
        "deflate": "saturation, compressed",
    }
    return Scenario(
        f"fan{count}-{size}-{kind}",
        f"{count} subscribers of one channel, {bytes_} bytes; {questions[kind]}",
        f"--n {count} --size {bytes_} {pace}",
        variants,
    )


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        fan(1000, "64", "one", "--messages 400 --window 1"),
        fan(100, "64", "sat", "--messages 9000"),
        fan(1000, "64", "sat", "--messages 900"),
        fan(10000, "64", "sat", "--messages 72 --warmup 4", variants=True),
        fan(100, "1k", "sat", "--messages 6000"),
        fan(1000, "1k", "sat", "--messages 600"),
        fan(10000, "1k", "sat", "--messages 60 --warmup 4"),
        fan(100, "64", "rate", "--rate 500 --duration 2.5"),
        fan(1000, "64", "rate", "--rate 20 --duration 3", variants=True),
        fan(1000, "1k", "rate", "--rate 20 --duration 3"),
        fan(10000, "64", "rate", "--rate 2 --duration 4 --warmup 2", variants=True),
        fan(1000, "64", "tls", "--messages 600"),
        fan(1000, "1k", "deflate", "--messages 600 --deflate nct"),
        Scenario(
            "many-sat",
            "500 channels with 4 subscribers, saturation: the cost of a publish",
            "--scenario many --n 2000 --channels 500 --size 64 --messages 50000 --window 32",
        ),
        Scenario(
            "fan1000-64-one-tracked",
            "the same as fan1000-64-one with positions: the cost of numbering and keeping",
            f"--n 1000 --size 64 --messages 400 --window 1 {TRACKED}",
            brokers_only=True,
        ),
        Scenario(
            "many-sat-tracked",
            "the same as many-sat with positions: the cost of numbering and keeping",
            f"--scenario many --n 2000 --channels 500 --size 64 --messages 50000 --window 32 {TRACKED}",
            brokers_only=True,
        ),
        Scenario(
            "many-rate",
            "500 channels with 4 subscribers, 2,000 messages a second",
            "--scenario many --n 2000 --channels 500 --size 64 --rate 2000 --duration 2.5",
        ),
        Scenario(
            "client-rate",
            "500 channels with 4 subscribers, 2,000 client events a second: the cost of a second loop",
            "--scenario many --n 2000 --channels 500 --channel private-bench- --pub ws --size 64 "
            "--rate 2000 --duration 4",
            variants=True,
            brokers_only=True,
            settings=tuple((f"FANFARE_APPS_0_{name}", value) for name, value in (
                ("ID", "1"), ("KEY", "app-key"), ("SECRET", "app-secret"),
                ("CLIENT_EVENTS_PER_SECOND_MAX", "1000000"), ("FEATURES_CLIENT_EVENTS", "true"),
            )),
        ),
        Scenario(
            "overload",
            "16 publishers without a window, 2,000 subscribers, 10 KiB",
            "--publishers 16 --subscribers 2000 --size 10240 --seconds 5 --events 2000 "
            f"--budget {OVERLOAD_MIB}",
            brokers_only=True,
            settings=(("FANFARE_LIMITS_QUEUED_BYTES_TOTAL_MAX", f"{OVERLOAD_MIB} MiB"),),
        ),
        Scenario(
            "churn",
            "connect, upgrade, subscribe, close",
            "--scenario churn --messages 16000 --concurrency 64",
        ),
        Scenario(
            "churn-tls",
            "connect, TLS handshake, upgrade, subscribe, close",
            "--scenario churn --messages 3000 --concurrency 32",
        ),
        Scenario("idle2k", "2,000 idle subscribers of one channel", "--scenario idle --n 2000"),
        Scenario(
            "idle10k",
            "10,000 idle subscribers of one channel",
            # The first seconds belong to connecting; the longest period of any timer is ten.
            "--scenario idle --n 10000 --rest 5 --idle 10",
        ),
        Scenario(
            "idle10k-tls",
            "10,000 idle subscribers over TLS 1.3",
            "--scenario idle --n 10000 --connect-inflight 128",
        ),
    )
}

SETS = {
    "quick": [
        "fan1000-64-one", "fan1000-64-sat", "fan1000-64-rate", "fan10000-64-sat",
        "many-sat", "churn", "idle10k",
    ],
    "full": list(SCENARIOS),
}
