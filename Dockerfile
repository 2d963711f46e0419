# The service: server, worker, migrations and the operator's tool, from one image.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# What is optional is the embedded PostgreSQL; here the database is a server of its own.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
# What belongs into the image is listed in .dockerignore.
COPY . .
USER node
EXPOSE 3000
CMD ["node", "server/main.ts"]
