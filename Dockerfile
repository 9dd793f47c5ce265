# One image for all four services and for operators' commands; compose and orchestrators choose which one runs.
#   docker build --build-arg REVISION="$(git rev-parse HEAD)" -t integration-sync-service .
ARG NODE_IMAGE=node:26-bookworm-slim

FROM ${NODE_IMAGE} AS manifests
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY shared/contracts/package.json shared/contracts/
COPY shared/runtime/package.json shared/runtime/
COPY shared/sync/package.json shared/sync/
COPY services/gateway/package.json services/gateway/
COPY services/catalog/package.json services/catalog/
COPY services/batches/package.json services/batches/
COPY services/webhooks/package.json services/webhooks/
COPY services/ops/package.json services/ops/
COPY client/package.json client/
COPY console/package.json console/
COPY loader/package.json loader/
COPY dev/package.json dev/
COPY test/package.json test/

# Each program in one file (dev/bundle.ts): the image starts in a fraction of the time.
FROM manifests AS programs
RUN npm ci --ignore-scripts --workspace dev --workspace console
COPY shared shared
COPY services services
COPY tsconfig.base.json ./
COPY dev/bundle.ts dev/
RUN node dev/bundle.ts /bundled

# The console's files: the image has them, and nothing of what makes them.
FROM programs AS console
COPY client client
COPY loader loader
COPY console console
COPY dev/console.ts dev/
RUN node dev/console.ts

# Not in the image of the services: a receiver of webhooks, for trying them out.
FROM programs AS receiver
COPY client client
COPY dev dev
USER 1000:1000
ENTRYPOINT ["node", "dev/receive.ts"]

FROM manifests AS dependencies
# The base image brings Node itself, and the local stack's and the tests' packages stay out.
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
      --workspace services/gateway --workspace services/catalog \
      --workspace services/batches --workspace services/webhooks --workspace services/ops --workspace console \
      --workspace shared/contracts --workspace shared/runtime --workspace shared/sync
RUN rm -r client loader dev test package-lock.json .npmrc && \
    find . -path '*/node_modules/*' \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' \) -type f -delete

FROM ${NODE_IMAGE} AS application
WORKDIR /app
# Programs are there whole, and nothing is installed in a container.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn*
# With the node_modules of each package: what two packages want in another version than a third stands there.
COPY --from=dependencies /app ./
COPY --from=programs /bundled ./
COPY --from=console /app/console/dist console/dist
# Operators' commands: docker run IMAGE ops streams
RUN ln -s services/ops/src/main.ts ops

# What V8 compiles at a start, under the user and the options of the last stage: a cache is good for these alone. A wrong
# setting ends each service once it has loaded all.
FROM application AS compiled
ENV NODE_COMPILE_CACHE=/compiled
RUN mkdir /compiled && chown 1000:1000 /compiled
USER 1000:1000
RUN for service in gateway catalog batches webhooks; do \
      LOG_LEVEL=none node --max-semi-space-size=32 services/$service/src/main.ts 2>&1 | grep -q 'LOG_LEVEL: expected' || exit 1; \
    done; \
    node --max-semi-space-size=32 ops --help

FROM application
COPY --from=compiled --chown=0:0 /compiled /compiled
COPY deploy/healthcheck.sh ./
# Which build this is: the version of package.json, and the commit. Metrics and `nats micro info` show them too.
ARG VERSION=1.2.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="integration-sync-service" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# glibc gives memory of 1 MB or more back once it is free. By itself it keeps that of large bodies, in pieces: 90 MB in a busy gateway.
ENV NODE_ENV=production NODE_COMPILE_CACHE=/compiled MALLOC_MMAP_THRESHOLD_=1000000 BUILD_REVISION=${REVISION}
# The user `node` of the base image, by number: Kubernetes can see that it is not root (runAsNonRoot).
USER 1000:1000
# The young generation may grow larger than by itself, so that what a push makes is garbage before it is copied.
ENTRYPOINT ["node", "--max-semi-space-size=32"]
CMD ["services/gateway/src/main.ts"]
