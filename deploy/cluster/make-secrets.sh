#!/usr/bin/env bash
# make-secrets.sh FOLDER: makes the secrets that compose.cluster.yml reads, each a file of its own. A secret that is there already
# is kept. Only the owner of the folder gets at them; inside the containers, whose users are others, every user may read them.
set -euo pipefail
folder=${1:?usage: make-secrets.sh FOLDER}
mkdir -p "$folder"
chmod 700 "$folder"
cd "$folder"

keep() { # keep FILE: what is on stdin becomes the file, unless the file is there
  if [[ -s $1 ]]; then cat >/dev/null; else cat >"$1.new" && chmod 444 "$1.new" && mv "$1.new" "$1"; fi
}
random() { openssl rand -hex 24; }

random | keep auth-jwt-secret
echo "key1:$(openssl rand -base64 32)" | keep webhook-secret-key

# nats-server reads its passwords from its environment, each service and the operators' commands their own from an address.
for user in GATEWAY CATALOG BATCHES WEBHOOKS READER OPS OPERATOR; do
  echo "NATS_${user}_PASSWORD=$(random)"
done | keep nats-passwords
# shellcheck source=/dev/null
source ./nats-passwords
for user in gateway catalog batches webhooks ops; do
  password=NATS_${user^^}_PASSWORD
  echo "nats://$user:${!password}@nats-1:4222,nats://nats-2:4222,nats://nats-3:4222" | keep "nats-url-$user"
done

random | keep mongodb-root-password
random | keep mongodb-password
openssl rand -base64 512 | keep mongodb-key
echo "mongodb://sync:$(<mongodb-password)@mongodb-1,mongodb-2,mongodb-3/?replicaSet=sync&authSource=admin" | keep mongodb-url
