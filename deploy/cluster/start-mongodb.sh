#!/usr/bin/env bash
# Starts one member of the replica set. mongod wants the key of the set in a file that it alone may read, and runs as `mongodb`.
set -euo pipefail
install -m 400 -o mongodb -g mongodb /run/secrets/mongodb-key /tmp/key
exec docker-entrypoint.sh mongod --replSet sync --keyFile /tmp/key --bind_ip_all --wiredTigerCacheSizeGB 0.5
