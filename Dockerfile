# A small image with the broker alone.
#
#     docker build --tag fanfare .
#     docker run --publish 6001:6001 --volume ./fanfare.yaml:/etc/fanfare/fanfare.yaml:ro fanfare
#
# or, without a configuration file, with an app from `fanfare keys app`:
#
#     docker run --publish 6001:6001 fanfare serve --host 0.0.0.0 --app ID:KEY:SECRET
#
# The broker runs as the user 10001, and needs no privilege and nothing to write to. Take away the rest as well:
#
#     docker run --read-only --cap-drop ALL --security-opt no-new-privileges --publish 6001:6001 …
#
# in Kubernetes by readOnlyRootFilesystem, capabilities.drop: [ALL], allowPrivilegeEscalation: false and runAsNonRoot.
#
# Webhooks that shall outlive the container wait in a volume: --volume fanfare:/var/lib/fanfare, and
# webhooks.database: /var/lib/fanfare/webhooks.sqlite in the configuration.

FROM swift:6.3-bookworm AS build
RUN apt-get update --quiet \
    && apt-get install --quiet --yes --no-install-recommends \
        libsqlite3-dev libssl-dev libyaml-dev pkg-config zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /fanfare
# A layer of its own: dependencies are fetched again only when they change. They are those that the tests have passed
# with, down to the commit.
COPY Package.swift ./
COPY config/dependencies.txt config/
COPY config/scripts/dependencies.sh config/scripts/
RUN config/scripts/dependencies.sh pin && swift package resolve --force-resolved-versions
COPY . .
RUN config/scripts/build.sh release fanfare && config/scripts/dependencies.sh check \
    && cp "$(config/scripts/build.sh path release)/fanfare" /usr/local/bin/fanfare

FROM debian:12-slim
RUN apt-get update --quiet \
    && apt-get install --quiet --yes --no-install-recommends \
        ca-certificates libsqlite3-0 libssl3 libstdc++6 libyaml-0-2 zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 fanfare \
    && useradd --system --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin fanfare \
    && install --directory --owner fanfare --group fanfare --mode 700 /var/lib/fanfare
COPY --from=build /usr/local/bin/fanfare /usr/local/bin/fanfare
# By number, so that Kubernetes sees that it is not root.
USER 10001:10001
EXPOSE 6001
# Asks where the running broker listens by its options, file and variables: any port, TLS, a prefix, a socket.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["fanfare", "health"]
# SIGTERM, the default, makes the broker ask its clients to reconnect before it goes; so does "docker exec NAME fanfare
# drain". Give "docker stop" a --time above shutdown.deadline.
ENTRYPOINT ["fanfare"]
CMD ["serve", "--config", "/etc/fanfare/fanfare.yaml"]
