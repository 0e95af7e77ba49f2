#!/usr/bin/env bash
# make up: builds the image and starts docker-compose.yml.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILDER=$(deploy/choose-builder.sh)
export BUILDER
compose=(docker-compose)
docker compose version >/dev/null 2>&1 && compose=(docker compose)
"${compose[@]}" -f docker-compose.yml up -d --build
port=${FAIRLEAD_HTTP_PORT:-8080} admin=${FAIRLEAD_ADMIN_PORT:-3035}
cat <<TXT

Fairlead is up. Try:
  curl -H 'Host: api.localhost' http://127.0.0.1:$port/     two replicas, one after the other
  curl -H 'Host: web.localhost' http://127.0.0.1:$port/
  curl -H 'Host: sick.localhost' http://127.0.0.1:$port/    fails its check and still serves: it is the only one
  http://127.0.0.1:$admin/dashboard/                        the dashboard, in a browser
  curl http://127.0.0.1:$admin/entrypoints                  states and reasons
  docker exec \$(docker ps -qf label=com.docker.compose.service=router | head -1) /fairlead route resolve http://api.localhost/
Stop it with: make down
TXT
