FROM node:24-slim
WORKDIR /meridian
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev
COPY bin bin
COPY migrations migrations
COPY examples examples
COPY src src
USER node
EXPOSE 5680 5681 5685
# /ready on the diagnostics port; other commands than a control plane have no such port and end before it is asked.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.MERIDIAN_DIAGNOSTICS_SERVER_PORT ?? 5680}/ready`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["bin/meridian"]
CMD ["--help"]
