# One image for all four services and for operators' commands; compose and orchestrators choose which one runs.
ARG NODE_IMAGE=node:26-bookworm-slim

FROM ${NODE_IMAGE} AS dependencies
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
COPY dev/package.json dev/
COPY test/package.json test/
# The base image brings Node itself, and the local stack's and the tests' packages stay out.
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
      --workspace services/gateway --workspace services/catalog \
      --workspace services/batches --workspace services/webhooks --workspace services/ops \
      --workspace shared/contracts --workspace shared/runtime --workspace shared/sync

FROM ${NODE_IMAGE}
WORKDIR /app
ENV NODE_ENV=production
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY shared shared
COPY services services
# Operators' commands: docker run IMAGE ops streams
RUN ln -s services/ops/src/main.ts ops
USER node
ENTRYPOINT ["node"]
CMD ["services/gateway/src/main.ts"]
