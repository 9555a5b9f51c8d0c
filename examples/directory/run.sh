#!/bin/sh
# Runs a directory of a company, for trying logins with its accounts: oidc-provider, as tests use it. It has one account,
# Moritz Muster's, and asks for no password. Herald must be started with this address as HERALD_DIRECTORY_AUTHORITY and
# with HERALD_OUTBOUND_PRIVATE=true.
#
#   examples/directory/run.sh [ADDRESS [HERALD]]    by default http://localhost:4000 and http://localhost:8080
set -eu

address=${1:-http://localhost:4000}
herald=${2:-http://localhost:8080}
root=$(cd "$(dirname "$0")/../.." && pwd)
clients=$root/deploy/herald/test/oauth/clients/provider

version=$(node --version 2>/dev/null) || version=v0
version=${version#v}
[ "${version%%.*}" -ge 20 ] || {
	echo "directory: needs Node.js 20 or later" >&2
	exit 1
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
library=$folder/node_modules/oidc-provider
mkdir -p "$library"
cp "$clients/dist/oidc-provider.mjs" "$library/index.mjs"
echo '{"name":"oidc-provider","exports":"./index.mjs"}' >"$library/package.json"
cp "$clients/directory.mjs" "$folder"

node "$folder/directory.mjs" <<EOF
{
  "Origin": "$address",
  "Tenant": "11111111-1111-4111-8111-111111111111",
  "ClientID": "herald",
  "Secret": "of-the-directory",
  "RedirectURI": "$herald/ui/login/externalidp/callback",
  "Method": "client_secret_basic",
  "Account": "moritz",
  "Claims": {
    "tid": "11111111-1111-4111-8111-111111111111",
    "oid": "0f0e8a4e-1d5c-4a3b-9f1e-7c2d5b6a8e90",
    "name": "Moritz Muster",
    "given_name": "Moritz",
    "family_name": "Muster",
    "preferred_username": "moritz@company.example",
    "email": "moritz@company.example",
    "locale": "de"
  }
}
EOF
