#!/usr/bin/env bash
# make up: builds the image and starts docker-compose.yml. Takes golang as the builder where it can be
# had, else makes one from the installed Go.
set -euo pipefail
cd "$(dirname "$0")/.."
docker info >/dev/null 2>&1 || {
  echo "up: no Docker engine answers. Start it, or set DOCKER_HOST; without an engine try: go run ./cmd/fairlead serve --help" >&2
  exit 1
}
export BUILDER=${BUILDER:-golang:1.26}
if ! docker image inspect "$BUILDER" >/dev/null 2>&1 && ! docker pull -q "$BUILDER" >/dev/null 2>&1; then
  echo "up: $BUILDER cannot be pulled; making a builder from the installed Go" >&2
  BUILDER=$(deploy/builder.sh)
fi
compose=(docker-compose)
docker compose version >/dev/null 2>&1 && compose=(docker compose)
"${compose[@]}" -f docker-compose.yml up -d --build
port=${FAIRLEAD_HTTP_PORT:-8080} admin=${FAIRLEAD_ADMIN_PORT:-3035}
cat <<TXT

Fairlead is up. Try:
  curl -H 'Host: api.localhost' http://127.0.0.1:$port/     two replicas, one after the other
  curl -H 'Host: web.localhost' http://127.0.0.1:$port/
  curl -H 'Host: sick.localhost' http://127.0.0.1:$port/    fails its check and still serves: it is the only one
  curl http://127.0.0.1:$admin/entrypoints                  states and reasons
  docker exec \$(docker ps -qf label=com.docker.compose.service=router | head -1) /fairlead route resolve http://api.localhost/
Stop it with: make down
TXT
