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
ENTRYPOINT ["bin/meridian"]
CMD ["--help"]
