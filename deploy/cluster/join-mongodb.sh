#!/usr/bin/env bash
# Makes the replica set of the three members and the user of the services, where they are not there yet, and ends.
set -euo pipefail
root="root:$(</run/secrets/mongodb-root-password)"
first="mongodb://$root@mongodb-1/admin?directConnection=true"
all="mongodb://$root@mongodb-1,mongodb-2,mongodb-3/admin?replicaSet=sync"

until mongosh "$first" --quiet --eval 'db.hello().ok' >/dev/null 2>&1; do sleep 1; done
mongosh "$first" --quiet --eval '
  if (db.hello().setName === undefined) {
    const members = [1, 2, 3].map((n) => ({ _id: n, host: `mongodb-${n}:27017` }));
    rs.initiate({ _id: "sync", members });
  }'
mongosh "$all" --quiet --eval '
  const pwd = fs.readFileSync("/run/secrets/mongodb-password", "utf8").trim();
  if (db.getUser("sync") === null) {
    db.createUser({ user: "sync", pwd, roles: [{ role: "readWrite", db: "integration_sync" }] });
  }'
