#!/bin/bash
# Makes Docker answer and builds the image of PostgreSQL from Debian's packages, with apt where something is missing.
# prepare-containers.sh FOLDER: puts logs there, and dockerd.pid if Docker had to be started.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
if ! command -v dockerd >/dev/null || ! command -v debootstrap >/dev/null; then
  .ci/apt-install.sh docker.io debootstrap iptables
fi
start_docker() {
  setsid dockerd --pidfile="$folder/dockerd.pid" "$@" >"$folder/dockerd.log" 2>&1 &
  for _ in $(seq 60); do
    docker info >/dev/null 2>&1 && return 0
    kill -0 $! 2>/dev/null || return 1
    sleep 1
  done
  return 1
}
if ! docker info >/dev/null 2>&1; then
  # Where the file system has no overlays.
  start_docker || start_docker --storage-driver=vfs || { tail -30 "$folder/dockerd.log"; exit 1; }
fi
image=meridian-postgres:debian
if docker image inspect "$image" >/dev/null 2>&1; then exit 0; fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
# The mirror that this machine itself uses; debootstrap's own where apt names none.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | grep -v -e security -e updates | head -1)
debootstrap --variant=minbase --include=postgresql bookworm "$root" ${mirror:+"$mirror"} || { tail -30 "$root/debootstrap/debootstrap.log"; exit 1; }
install -m 755 .ci/postgres-entrypoint.sh "$root/usr/local/bin/postgres-entrypoint"
tar -C "$root" -c . | docker import --change 'ENTRYPOINT ["/usr/local/bin/postgres-entrypoint"]' --change 'EXPOSE 5432' - "$image"
