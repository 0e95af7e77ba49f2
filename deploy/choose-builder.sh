#!/usr/bin/env bash
# Prints the builder image for deploy/Dockerfile: BUILDER where it is set, else golang; where that
# cannot be had, one made from the installed Go.
set -euo pipefail
cd "$(dirname "$0")/.."
docker info >/dev/null 2>&1 || {
  echo "no Docker engine answers. Start it, or set DOCKER_HOST; without an engine try: go run ./cmd/fairlead serve --help" >&2
  exit 1
}
builder=${BUILDER:-golang:1.26}
if ! docker image inspect "$builder" >/dev/null 2>&1 && ! docker pull -q "$builder" >/dev/null 2>&1; then
  echo "$builder cannot be pulled; making a builder from the installed Go" >&2
  builder=$(deploy/builder.sh)
fi
echo "$builder"
