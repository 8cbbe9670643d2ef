#!/bin/bash
# Installs the browser of the tests of the page, where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
for path in /usr/bin/chromium /usr/bin/google-chrome; do
  if [ -x "$path" ]; then echo "$path"; exit 0; fi
done
.ci/apt-install.sh chromium
