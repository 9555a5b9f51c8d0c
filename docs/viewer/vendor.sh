#!/usr/bin/env bash
# Downloads the viewer of the API and the events from npm. Two pictures of its maker's name, which it
# would load from another host, are replaced by the name as text.
set -euo pipefail
version=3.0.1
integrity=KDfoKaYW19LCl4YStgBnwlaNjYEFfs5zCNt1s1WZ2YM5u8d26Yuzd2l43fZO851ZsgIMe/D640fDJkD8eaRQKQ==
name="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 46 14'%3E%3Ctext y='11' font-family='sans-serif' font-size='12' fill='%23808890'%3ERedocly%3C/text%3E%3C/svg%3E"
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "redoc@$version" > /dev/null
[ "$(openssl dgst -sha512 -binary "redoc-$version.tgz" | base64 -w0)" = "$integrity" ] || { echo 'the package is not the one that was checked' >&2; exit 1; }
tar xzf "redoc-$version.tgz"
sed -E "s#https://cdn\.redoc\.ly/redoc/logo-mini(-full)?\.svg#$name#g" package/bundles/redoc.standalone.js | gzip -9n > "$here/redoc.js.gz"
cp package/LICENSE "$here/LICENSE"
