# A registry is needed to look up the digest of an image, so that the digests of today are given at the build (docs/running.md):
#   docker build --build-arg BUILD_IMAGE=node:24-slim@sha256:… --build-arg RUN_IMAGE=debian:bookworm-slim@sha256:… .
ARG BUILD_IMAGE=node:24-slim
ARG RUN_IMAGE=debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /meridian
COPY package.json package-lock.json .npmrc ./
# The package node keeps headers and its binary a second time.
RUN npm ci --omit=dev && rm -rf node_modules/node/node_modules

# The Node that runs is the one of package-lock.json. The image has no other, and no npm.
FROM ${RUN_IMAGE}
RUN useradd --uid 1000 --user-group --create-home --shell /usr/sbin/nologin meridian
WORKDIR /meridian
COPY --from=build /meridian/node_modules node_modules
COPY package.json ./
COPY bin bin
COPY migrations migrations
COPY examples examples
COPY src src
COPY web/dist web/dist
USER 1000:1000
EXPOSE 5678 5680 5681 5685
# /ready on the diagnostics port; other commands than a control plane have no such port and end before it is asked.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s \
  CMD ["node_modules/node/bin/node", "-e", "fetch(`http://127.0.0.1:${process.env.MERIDIAN_DIAGNOSTICS_SERVER_PORT ?? 5680}/ready`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["bin/meridian"]
CMD ["--help"]
