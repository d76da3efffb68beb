#!/bin/sh
# Browser tests drive a system Chromium; this finds one or installs the distribution's.
# With "all" it also installs Firefox and WebKit, in which the walk is done too; tests say so and
# are skipped where they are absent.
set -eu
wanted=""
found=""
for name in chromium chromium-browser google-chrome google-chrome-stable; do
  command -v "$name" >/dev/null 2>&1 && found=yes
done
[ -n "$found" ] || wanted="chromium fonts-dejavu-core"
if [ "${1:-}" = all ]; then
  command -v firefox-esr >/dev/null 2>&1 || command -v firefox >/dev/null 2>&1 || wanted="$wanted firefox-esr"
  command -v WebKitWebDriver >/dev/null 2>&1 || wanted="$wanted webkit2gtk-driver"
  command -v Xvfb >/dev/null 2>&1 || wanted="$wanted xvfb"
fi
[ -n "$wanted" ] || exit 0
if command -v apt-get >/dev/null 2>&1; then
  as_root=""
  [ "$(id -u)" = 0 ] || as_root="sudo"
  $as_root apt-get update -qq
  # shellcheck disable=SC2086  # several packages
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $wanted >/dev/null
  exit 0
fi
echo "Install Chromium or Chrome with your system's package manager, then run make test again." >&2
exit 1
