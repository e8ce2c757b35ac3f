"""The proof of recovery: real clients behind a network that fails and a broker that dies, checked message by message."""
