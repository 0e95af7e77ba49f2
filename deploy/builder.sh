#!/usr/bin/env bash
# Makes a builder image for deploy/Dockerfile from the Go installation and the module cache of this
# machine, for machines that cannot pull golang. Usage: deploy/builder.sh [TAG]
#
# The image holds Go, the modules of go.mod, the trusted roots and the few programs that the
# Dockerfile's RUN lines call, each with the libraries it links.
set -euo pipefail
cd "$(dirname "$0")/.."
tag=${1:-fairlead-builder:local}
# A builder of this Go and these modules is used again: making one takes minutes.
made_of="$(go version) $(cat go.mod go.sum | sha256sum | cut -c1-16)"
if [ "$(docker image inspect --format '{{index .Config.Labels "fairlead.builder"}}' "$tag" 2>/dev/null)" = "$made_of" ]; then
  echo "$tag"
  exit 0
fi
root=$(mktemp -d)
trap 'chmod -R u+w "$root"; rm -rf "$root"' EXIT

goroot=$(go env GOROOT)
mkdir -p "$root/usr/local" "$root/bin" "$root/tmp" "$root/etc/ssl/certs" "$root/root"
cp -a "$goroot" "$root/usr/local/go"
rm -rf "$root/usr/local/go/test" "$root/usr/local/go/doc" "$root/usr/local/go/api"

for program in sh mkdir cp; do
  path=$(readlink -f "$(command -v $program)")
  cp "$path" "$root/bin/$program"
  ldd "$path" 2>/dev/null | grep -oE '/[^ ]+' | while read -r lib; do
    mkdir -p "$root$(dirname "$lib")"
    cp -L "$lib" "$root$lib"
  done
done
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || : >"$root/etc/ssl/certs/ca-certificates.crt"

# The modules, fetched once into a cache that serves as the builder's module proxy: no network in the build.
go mod download
have=$(go env GOMODCACHE)/cache/download
GOMODCACHE="$root/mod" GOPROXY="file://$have" GOSUMDB=off GOFLAGS=-modcacherw go mod download
mkdir -p "$root/modproxy"
cp -a "$root/mod/cache/download/." "$root/modproxy/"
rm -rf "$root/mod"

before=$(docker image inspect --format '{{.Id}}' "$tag" 2>/dev/null || true)
tar -C "$root" -c . | docker import \
  -c "LABEL fairlead.builder=\"$made_of\"" \
  -c 'ENV PATH=/usr/local/go/bin:/bin GOPROXY=file:///modproxy GOSUMDB=off GOTOOLCHAIN=local HOME=/root' \
  -c 'CMD ["/bin/sh"]' - "$tag" >/dev/null
if [ -n "$before" ]; then docker rmi "$before" >/dev/null 2>&1 || true; fi # the old one, 700 MB without a name
echo "$tag"
