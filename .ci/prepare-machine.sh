#!/bin/bash
# Installs what the tests take from the machine and what is not there: a browser for those of the page, and the programs that make
# network namespaces and rules of the firewall (test/support/find-namespaces.ts).
set -euo pipefail
cd "$(dirname "$0")/.."
# Those of the firewall are in /usr/sbin, which is not on the PATH of every user.
PATH=$PATH:/usr/sbin:/sbin
# A program, and its package in Debian.
needs=(ip:iproute2 iptables:iptables nft:nftables setpriv:util-linux)
missing=()
for need in "${needs[@]}"; do command -v "${need%%:*}" >/dev/null || missing+=("${need#*:}"); done
[ -x /usr/bin/chromium ] || [ -x /usr/bin/google-chrome ] || missing+=(chromium)
[ "${#missing[@]}" -eq 0 ] || .ci/apt-install.sh "${missing[@]}"
echo "there now: $(printf '%s ' "${needs[@]%%:*}")and a browser"
