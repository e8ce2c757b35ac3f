"""Clients that have only the app's public key and attack the broker, beside clients that must not notice."""
