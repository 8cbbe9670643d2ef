#!/bin/bash
# apt-install.sh PACKAGE…: one at a time, because parts of a run that go beside each other install their needs.
set -euo pipefail
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
exec 9>"${TMPDIR:-/tmp}/meridian-ci-apt-$(id -u).lock"
flock 9
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "$@"
