#!/bin/sh
# Installs the browser of `make test-page`, if it is missing. Only root can, and only on Debian.
set -eu

command -v chromium >/dev/null && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "The page is not tested in a browser: install chromium, then make test-page." >&2
    exit 1
fi
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium
